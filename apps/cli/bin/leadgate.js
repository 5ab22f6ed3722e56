#!/usr/bin/env node
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { constants, Script } from 'node:vm';

const DIST = new URL('../dist/', import.meta.url);
const ENTRY = './bin.cjs';

// Prisma compiles queries with a WebAssembly: optimising it takes longer than a command's few queries.
// First of all, as V8 takes code back only under the flags that it was compiled with.
setFlagsFromString('--liftoff-only');

/** @type {Map<string, { script: Script, module: { exports: unknown }, isKept: boolean }>} */
const loaded = new Map();
const requireOutside = createRequire(DIST);

/**
 * Runs a file of the bundle as CommonJS, once, with the code that V8 made of it before: to compile all
 * anew takes half of a command's CPU. V8 does so all the same if it is another release, or has other flags.
 * @param {string} name of a file in dist, with ./ before it; any other is Node's or a package's
 * @returns {unknown} what it exports
 */
function load(name) {
  if (!name.startsWith('./')) return requireOutside(name);
  const known = loaded.get(name);
  if (known !== undefined) return known.module.exports;
  const filename = fileURLToPath(new URL(name, DIST));
  const source = readFileSync(filename, 'utf8');
  const cachedData = readCode(name);
  const script = new Script(`(function(exports,require,module,__filename){${source}\n})`, {
    filename,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    ...(cachedData !== null && { cachedData }),
  });
  const module = { exports: {} };
  loaded.set(name, { script, module, isKept: script.cachedDataRejected === false });
  script.runInThisContext()(module.exports, load, module, filename);
  return module.exports;
}

/** @param {string} name @returns {Buffer | null} */
function readCode(name) {
  try {
    return readFileSync(codeOf(name));
  } catch {
    return null;
  }
}

/**
 * Keeps the code of what was loaded, with the functions that were used until now, if some was new. Not
 * of the entry, the one file whose name says nothing of what is in it: V8 looks at its length only.
 */
function keepCode() {
  loaded.delete(ENTRY);
  if ([...loaded.values()].every(({ isKept }) => isKept)) return;
  try {
    for (const [name, { script }] of loaded) {
      const written = codeOf(`${name}.${process.pid}`);
      writeFileSync(written, script.createCachedData());
      renameSync(written, codeOf(name));
    }
  } catch {
    // Not theirs to write, as in an image: then it stays as it is.
  }
}

/** @param {string} name */
const codeOf = (name) => new URL(`${name}.code`, DIST);

/** @param {string} sentence */
function give(sentence) {
  process.stderr.write(`leadgate: ${sentence}\n`);
  process.exitCode = 1;
}

if (!existsSync(new URL(ENTRY, DIST)))
  give('not built yet: run npm start (or npm run build) in the repository first.');
else
  try {
    load(ENTRY);
    process.on('exit', keepCode);
  } catch (error) {
    // A half-finished build: a file that is not there yet, or not whole.
    if (!(error instanceof SyntaxError) && error?.code !== 'ENOENT') throw error;
    give('not built completely: run npm run build in the repository, then try again.');
  }
