import { spawnSync } from 'node:child_process';

/**
 * Installs a package of the distribution, where this is root on one with apt. Whether it tried to.
 * @param {string} name
 * @param {(line: string) => void} say
 */
export function installPackage(name, say) {
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) return false;
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
