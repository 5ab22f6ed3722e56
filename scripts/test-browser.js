import { spawn } from 'node:child_process';
import { findChromium } from './find-chromium.js';
import { ROOT, prepareSources, say } from './prepare.js';
import { runMain } from './run-main.js';

const USAGE = `npm run test:browser [-- <vitest arguments>]

The tests of what runs in a browser, in a headless Chromium: CHROME_PATH, one that is installed, or
the distribution's package. The console's need Redis and Postgres, as npm test does. The snippet's run
against a stand-in of the receiver, or against one that runs:
  RECEIVER_URL=http://127.0.0.1:3000 RECEIVER_OPEN_LINK=… RECEIVER_CLOSED_LINK=… npm run test:browser
`;

await runMain(async () => {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    process.stdout.write(USAGE);
    return;
  }
  await prepareSources();
  const config = ['--config', 'vitest.browser.config.ts'];
  const vitest = spawn(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', ...config, ...args],
    { cwd: ROOT, stdio: 'inherit', env: { ...process.env, CHROME_PATH: findChromium(say) } },
  );
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => signal !== 'SIGINT' && vitest.kill(signal));
  process.exitCode = await new Promise((resolve) => {
    vitest.once('exit', (code) => {
      resolve(code ?? 1);
    });
  });
});
