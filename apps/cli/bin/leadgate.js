#!/usr/bin/env node
import { existsSync } from 'node:fs';

const built = new URL('../dist/bin.js', import.meta.url);

/** @param {string} sentence */
function give(sentence) {
  process.stderr.write(`leadgate: ${sentence}\n`);
  process.exitCode = 1;
}

if (!existsSync(built))
  give('not built yet: run npm start (or npm run build) in the repository first.');
else
  try {
    await import(built.href);
  } catch (error) {
    // A half-finished build: a file or an export that is not there yet.
    if (!(error instanceof SyntaxError) && error?.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    give('not built completely: run npm run build in the repository, then try again.');
  }
