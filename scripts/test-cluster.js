import { spawn } from 'node:child_process';
import { ROOT, prepare, say } from './prepare.js';
import { requireProgram } from './require-program.js';
import { runMain } from './run-main.js';

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
  const vitest = spawn(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', ...config, ...args],
    { cwd: ROOT, stdio: 'inherit' },
  );
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => signal !== 'SIGINT' && vitest.kill(signal));
  process.exitCode = await new Promise((resolve) => {
    vitest.once('exit', (code) => {
      resolve(code ?? 1);
    });
  });
});
