import { spawnSync } from 'node:child_process';
import { installPackage } from './distribution-package.js';
import { StartError } from './servers/process.js';

/**
 * Sees that a program can be run by its name, or installs the distribution's package where that can
 * be done. Throws a StartError that says what to install.
 * @param {string} program
 * @param {string} packageName
 * @param {string} purpose what it is needed for
 * @param {(line: string) => void} say
 */
export function requireProgram(program, packageName, purpose, say) {
  if (runs(program) || (installPackage(packageName, say) && runs(program))) return;
  throw new StartError(`there is no ${program} ${purpose}: install ${packageName}`);
}

/** @param {string} program */
function runs(program) {
  // HAProxy knows only the short one, OpenSSL only the word.
  return ['--version', '-v', 'version'].some(
    (flag) => spawnSync(program, [flag], { stdio: 'ignore' }).status === 0,
  );
}
