// Removes from node_modules what no app needs when it runs: `node deploy/image/remove-unneeded.js`.
//
// `npm ci --omit=dev` keeps every package that is somebody's optional peer and is in the lock file for
// development's sake: Prisma's command line, TypeScript and all that they bring, 300 MB of them.
import { existsSync, readFileSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** @type {Set<string>} */
const needed = new Set();
for (const app of readdirSync(join(ROOT, 'apps'))) need(join(ROOT, 'apps', app));
removeUnneeded(ROOT);

/** @param {string} folder of a package */
function need(folder) {
  if (needed.has(folder)) return;
  needed.add(folder);
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } =
    manifestOf(folder);
  const peers = Object.keys(peerDependencies ?? {}).filter(
    (name) => !peerDependenciesMeta?.[name]?.optional,
  );
  for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]) {
    const found = find(name, folder);
    if (found !== null) need(found);
    // Those of other platforms are not there.
    else if (!optionalDependencies?.[name]) throw new Error(`${folder} needs ${name}`);
  }
}

/**
 * @typedef {object} Manifest
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [optionalDependencies]
 * @property {Record<string, string>} [peerDependencies]
 * @property {Record<string, { optional?: boolean }>} [peerDependenciesMeta]
 */

/** @param {string} folder */
function manifestOf(folder) {
  const text = readFileSync(join(folder, 'package.json'), 'utf8');
  return /** @type {Manifest} */ (JSON.parse(text));
}

/**
 * Where Node finds a package from a folder: in the nearest node_modules upwards.
 * @param {string} name
 * @param {string} from
 */
function find(name, from) {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return realpathSync(candidate);
  }
  return null;
}

/** @param {string} folder that has, or whose packages have, a node_modules */
function removeUnneeded(folder) {
  for (const path of packagesIn(join(folder, 'node_modules'))) {
    if (!existsSync(path) || !needed.has(realpathSync(path))) rmSync(path, { recursive: true });
    else removeUnneeded(path);
  }
}

/** @param {string} modules */
function packagesIn(modules) {
  if (!existsSync(modules)) return [];
  return readdirSync(modules).flatMap((name) => {
    const path = join(modules, name);
    if (name.startsWith('.')) return [];
    return name.startsWith('@') ? readdirSync(path).map((scoped) => join(path, scoped)) : [path];
  });
}
