/** @import { InputOptions, OutputOptions } from 'rolldown' */

/** @type {InputOptions} */
const input = {
  cwd: import.meta.dirname,
  input: 'src/snippet.ts',
  tsconfig: 'tsconfig.build.json',
  transform: { target: 'es2019' },
};

/** @type {OutputOptions} */
const output = { file: 'dist/capture.js', format: 'iife', minify: true, comments: false };

// The file for <script>: one classic script that leaves nothing behind but `window.leadgate`.
export default { ...input, output };
