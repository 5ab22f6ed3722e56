import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';

/**
 * A secret from a file, or from the standard input (`-`), without the line break at its end. Never
 * from an option: a command line is seen by all of the machine, and kept by the shell.
 */
export async function readSecret(file: string, cwd: string): Promise<string> {
  const read = file === '-' ? text(process.stdin) : readFile(resolve(cwd, file), 'utf8');
  return (await read).trim();
}
