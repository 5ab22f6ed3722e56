import { findChromium } from './find-chromium.js';
import { prepare, say } from './prepare.js';
import { requireProgram } from './require-program.js';
import { runMain } from './run-main.js';
import { runVitest } from './run-vitest.js';

const USAGE = `npm run test:browser [-- <vitest arguments>]

The tests of what runs in a browser, in a headless Chromium (CHROME_PATH, one that is installed, or the
distribution's package), and of the examples of docs/integrate.md, with curl, PHP and Python. Root on
Debian or Ubuntu has what is missing installed. Servers as npm test has them. The snippet's tests run
against a stand-in of the receiver and against a real one; against another real one too:
  RECEIVER_URL=http://127.0.0.1:3000 RECEIVER_OPEN_LINK=… RECEIVER_CLOSED_LINK=… npm run test:browser
`;

/** What the examples of docs/integrate.md are run with, and the packages that have it. */
const PROGRAMS = /** @type {const} */ ([
  ['bash', 'bash'],
  ['curl', 'curl'],
  ['openssl', 'openssl'],
  ['php', 'php-cli'],
  ['python3', 'python3'],
]);

await runMain(async () => {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    process.stdout.write(USAGE);
    return;
  }
  await prepare();
  const purpose = 'to run the examples of docs/integrate.md with';
  for (const [program, packageName] of PROGRAMS) requireProgram(program, packageName, purpose, say);
  const config = ['--config', 'vitest.browser.config.ts'];
  process.exitCode = await runVitest([...config, ...args], {
    env: { CHROME_PATH: findChromium(say) },
  });
});
