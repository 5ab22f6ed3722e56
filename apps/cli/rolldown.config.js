/** @import { RolldownOptions, Plugin } from 'rolldown' */

/**
 * Prisma's query compiler in half the size: for the few queries of a command, loading it is most of the
 * work.
 * @type {Plugin}
 */
const smallCompiler = {
  name: 'small-query-compiler',
  transform: {
    filter: { id: /generated\/internal\/class\.js$/ },
    handler: (code) => code.replaceAll('query_compiler_fast_bg', 'query_compiler_small_bg'),
  },
};

/**
 * The command line with all that it imports, in a file a command: Node takes longer to find and read
 * a thousand small modules than to run a command.
 * @type {RolldownOptions}
 */
export default {
  cwd: import.meta.dirname,
  input: 'src/bin.ts',
  platform: 'node',
  // Optional, and used by nothing here.
  external: ['pg-native', 'pino-pretty'],
  plugins: [smallCompiler],
  // pg asks it whether it runs on Cloudflare, and Node 20 loads its whole HTTP client to answer.
  transform: { define: { Response: 'undefined' } },
  output: { dir: 'dist', format: 'esm', cleanDir: true },
};
