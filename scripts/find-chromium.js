import { spawnSync } from 'node:child_process';
import { installPackage } from './distribution-package.js';
import { StartError } from './servers/process.js';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const PLACES = [
  '/usr/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/**
 * The command of a Chromium: CHROME_PATH, one that is installed, or the distribution's package,
 * which root installs where there is apt.
 * @param {(line: string) => void} say
 * @returns {string} its path
 */
export function findChromium(say) {
  const given = process.env['CHROME_PATH'];
  if (given) {
    if (runs(given)) return given;
    throw new StartError(`CHROME_PATH is ${given}, and that does not run`);
  }
  const found = installed();
  if (found) return found;
  const path = installPackage('chromium', say) ? installed() : undefined;
  if (path) return path;
  throw new StartError(
    'there is no Chromium for the browser tests: install chromium or Google Chrome, or give its path in CHROME_PATH',
  );
}

function installed() {
  const onPath = NAMES.flatMap((name) => {
    const { stdout } = spawnSync('which', [name], { encoding: 'utf8' });
    return stdout ? [stdout.trim()] : [];
  });
  return [...onPath, ...PLACES].find(runs);
}

/** @param {string} path */
function runs(path) {
  return spawnSync(path, ['--version', '--no-sandbox'], { stdio: 'ignore' }).status === 0;
}
