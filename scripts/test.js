import { spawn } from 'node:child_process';
import { ROOT, prepare } from './prepare.js';
import { runMain } from './run-main.js';

const USAGE = `npm test [-- <vitest arguments>]

All tests, after installing and building what they need:
  npm test                                  everything
  npm test -- packages/leads                the tests of a folder
  npm test -- -t 'phone'                    tests with a word in their title

Servers: TEST_REDIS_URL and TEST_DATABASE_URL when given (tests make databases of their own on them),
else containers where Docker answers, else private servers as npm start has them.
`;

await runMain(async () => {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    process.stdout.write(USAGE);
    return;
  }
  await prepare();
  process.exitCode = await vitest(args);
});

/**
 * @param {string[]} args
 * @returns {Promise<number>}
 */
function vitest(args) {
  const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...args], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  // A terminal sends Ctrl-C to both; vitest ends its servers, and this waits for it.
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => signal !== 'SIGINT' && child.kill(signal));
  return new Promise((resolve) => {
    child.once('exit', (code) => {
      resolve(code ?? 1);
    });
  });
}
