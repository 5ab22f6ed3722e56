import { prepare, say } from './prepare.js';
import { requireProgram } from './require-program.js';
import { runMain } from './run-main.js';
import { runVitest } from './run-vitest.js';

const USAGE = `npm run test:cluster [-- <vitest arguments>]

On a Redis Cluster of three masters and three replicas that this starts: the tests named
*.cluster.test.ts, which kill a master and move slots under load and restart every process behind a
proxy, and those of npm test that say what a Cluster could break. It needs redis-server (found or
fetched as npm start does) and haproxy, which root on Debian or Ubuntu has installed.
`;

await runMain(async () => {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    process.stdout.write(USAGE);
    return;
  }
  await prepare();
  requireProgram('haproxy', 'haproxy', 'to put in front of receivers', say);
  const config = ['--config', 'vitest.cluster.config.ts'];
  process.exitCode = await runVitest([...config, ...args]);
});
