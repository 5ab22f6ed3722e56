import { defineConfig } from 'rolldown';

// The file for <script>: one classic script that leaves nothing behind but `window.leadgate`.
export default defineConfig({
  input: 'src/snippet.ts',
  tsconfig: 'tsconfig.build.json',
  transform: { target: 'es2019' },
  output: { file: 'dist/capture.js', format: 'iife', minify: true, comments: false },
});
