import { spawnSync } from 'node:child_process';
import { say } from './prepare.js';
import { StartError, runs } from './servers/process.js';

const CHROMIUMS = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const CHROME_OF_MACOS = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';

/**
 * Sees that a program can be run by its name, or installs the distribution's package if that can
 * be done. Throws a StartError that says what to install.
 * @param {string} program
 * @param {string} packageName
 * @param {string} purpose what it is needed for
 */
export function requireProgram(program, packageName, purpose) {
  // HAProxy knows only the short one, OpenSSL only the word.
  const isThere = () => ['--version', '-v', 'version'].some((flag) => runs(program, [flag]));
  if (isThere() || (installPackage(packageName) && isThere())) return;
  throw new StartError(`there is no ${program} ${purpose}: install ${packageName}`);
}

/**
 * The path of a Chromium: CHROME_PATH, one that is installed, or the distribution's package,
 * which root installs if there is apt.
 * @returns {string}
 */
export function findChromium() {
  const isChromium = (/** @type {string} */ path) => runs(path, ['--version', '--no-sandbox']);
  const given = process.env['CHROME_PATH'];
  if (given) {
    if (isChromium(given)) return given;
    throw new StartError(`CHROME_PATH is ${given}, and that does not run`);
  }
  const installed = () => {
    const { stdout } = spawnSync('which', CHROMIUMS, { encoding: 'utf8' });
    return [...stdout.split('\n').filter(Boolean), CHROME_OF_MACOS].find(isChromium);
  };
  const found = installed() ?? (installPackage('chromium') ? installed() : undefined);
  if (found) return found;
  throw new StartError(
    'there is no Chromium for the browser tests: install chromium or Google Chrome, or give its path in CHROME_PATH',
  );
}

/**
 * Installs a package of the distribution, if this is root on one with apt. Whether it tried to.
 * @param {string} name
 */
function installPackage(name) {
  if (process.getuid?.() !== 0 || !runs('apt-get', ['--version'])) return false;
  say(`there is no ${name} here: installing the package of the distribution`);
  apt(['update', '-qq']);
  apt(['install', '-y', '-qq', '--no-install-recommends', name]);
  return true;
}

/** @param {string[]} args */
function apt(args) {
  spawnSync('apt-get', args, {
    stdio: ['ignore', process.stderr, process.stderr],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
}
