/** @import { RolldownOptions, Plugin } from 'rolldown' */

const COMPILER = '@prisma/client/runtime/query_compiler_small_bg.postgresql';
const COMPILER_FILE = 'query-compiler.wasm';

/**
 * Prisma's query compiler, a WebAssembly: in half the size, as a file beside the code, and loaded with
 * the first query that it compiles. Most commands that look ask in SQL, and never do.
 * @type {Plugin}
 */
const lateCompiler = {
  name: 'late-query-compiler',
  async buildStart() {
    /** @type {unknown} */
    const compiler = await import(`${COMPILER}.wasm-base64.mjs`);
    const { wasm } = /** @type {{ wasm: string }} */ (compiler);
    const source = Buffer.from(wasm, 'base64');
    this.emitFile({ type: 'asset', fileName: COMPILER_FILE, source });
  },
  transform: {
    filter: { id: /generated\/internal\/class\.js$/ },
    handler(code) {
      const late = code.replace(/config\.compilerWasm = \{.*?\n\}/s, LATE_COMPILER);
      if (late === code) throw new Error('the code that Prisma generates has changed');
      return `import * as compiler from '${COMPILER}.mjs';\nimport { readFileSync } from 'node:fs';\n${late}`;
    },
  },
};

/** In the place of what Prisma connects with: an empty WebAssembly, and a compiler that loads the real one. */
const LATE_COMPILER = `
class QueryCompiler {
  constructor(options) { this.options = options; }
  get real() { return (this.loaded ??= new (loadCompiler())(this.options)); }
  compile(query) { return this.real.compile(query); }
  compileBatch(batch) { return this.real.compileBatch(batch); }
  free() { this.loaded?.free(); }
}
function loadCompiler() {
  const bytes = readFileSync(new URL('${COMPILER_FILE}', import.meta.url));
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), {
    './query_compiler_small_bg.js': compiler,
  });
  compiler.__wbg_set_wasm(exports);
  exports.__wbindgen_start();
  return compiler.QueryCompiler;
}
// (module (func (export "__wbindgen_start")))
const EMPTY = 'AGFzbQEAAAABBAFgAAADAgEABxQBEF9fd2JpbmRnZW5fc3RhcnQAAAoEAQIACw==';
config.compilerWasm = {
  getRuntime: () => Promise.resolve({ QueryCompiler, __wbg_set_wasm: () => {} }),
  getQueryCompilerWasmModule: () =>
    Promise.resolve(new WebAssembly.Module(Buffer.from(EMPTY, 'base64'))),
  importName: './query_compiler_small_bg.js',
}`;

/**
 * What Prisma knows of its queries' parameters, unpacked with the first query that it compiles: that
 * takes a quarter of a command's CPU.
 * @type {Plugin}
 */
const lateParameters = {
  name: 'late-parameters',
  transform: {
    filter: { id: /@prisma\/client\/runtime\/client\.m?js$/ },
    handler(code) {
      const late = code.replace(
        /\w{1,8}\.deserialize\(t\.parameterizationSchema,n=>\{.*?return i\}\)/,
        (unpacked) => `unpackedLate(()=>${unpacked})`,
      );
      if (late === code) throw new Error('the code of Prisma has changed');
      return `${late}\n${UNPACKED_LATE}`;
    },
  },
};

const UNPACKED_LATE = `
function unpackedLate(unpack) {
  let unpacked;
  return new Proxy({}, {
    get(_, name) {
      unpacked ??= unpack();
      const member = unpacked[name];
      return typeof member === 'function' ? member.bind(unpacked) : member;
    },
  });
}`;

/**
 * The command line with all that it imports, in a file a command: Node takes longer to find and read
 * a thousand small modules than to run a command. As CommonJS, as bin/leadgate.js keeps its compiled code.
 * @type {RolldownOptions}
 */
export default {
  cwd: import.meta.dirname,
  input: 'src/bin.ts',
  platform: 'node',
  // Optional, and used by nothing here.
  external: ['pg-native', 'pino-pretty'],
  plugins: [lateCompiler, lateParameters],
  // pg asks it whether it runs on Cloudflare, and Node 20 loads its whole HTTP client to answer.
  transform: { define: { Response: 'undefined' } },
  // A command reads all of a file, and runs little of it. Names stay, as stack traces and classes have them.
  output: {
    ...{ dir: 'dist', format: 'cjs', cleanDir: true },
    ...{ entryFileNames: '[name].cjs', chunkFileNames: '[name]-[hash].cjs' },
    minify: { compress: true, mangle: false },
  },
};
