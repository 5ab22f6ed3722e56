import { StartError } from './servers/process.js';

/**
 * Runs a script's main function: what an operator can mend ends as one line, a bug as its stack;
 * both with status 1.
 * @param {() => void | Promise<void>} main
 */
export async function runMain(main) {
  try {
    await main();
  } catch (error) {
    if (error instanceof StartError) process.stderr.write(`${error.message}\n`);
    else console.error(error);
    process.exitCode = 1;
  }
}
