import { prepareSources } from './prepare.js';
import { runMain } from './run-main.js';
import { runVitest } from './run-vitest.js';

const USAGE = `npm run test:redis -- valkey-server [<vitest arguments>]

The tests of what runs scripts in Redis or puts jobs in it, on another Redis or Valkey than npm test
finds: a program on the PATH, or where it is.
`;

/** What runs in Redis. Whole processes need no other Redis than these do. */
const TESTS = ['packages/boot/src', 'packages/intake/src', 'packages/queue/src'];

await runMain(async () => {
  const [program, ...args] = process.argv.slice(2);
  if (program === undefined || program.startsWith('-')) {
    process.stdout.write(USAGE);
    process.exitCode = program === '--help' ? 0 : 2;
    return;
  }
  await prepareSources();
  process.exitCode = await runVitest([...TESTS, ...args], { env: { TEST_REDIS_PROGRAM: program } });
});
