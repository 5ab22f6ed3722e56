import { prepare } from './prepare.js';
import { runMain } from './run-main.js';
import { runVitest } from './run-vitest.js';

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
  process.exitCode = await runVitest(args);
});
