import { spawnSync } from 'node:child_process';
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
  if (process.getuid?.() === 0 && spawnSync('apt-get', ['--version']).status === 0) {
    say('there is no Chromium here: installing the package of the distribution');
    apt(['update', '-qq']);
    apt(['install', '-y', '-qq', '--no-install-recommends', 'chromium']);
    const path = installed();
    if (path) return path;
  }
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

/** @param {string[]} args */
function apt(args) {
  spawnSync('apt-get', args, {
    stdio: ['ignore', process.stderr, process.stderr],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
}
