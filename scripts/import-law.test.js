import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Files that break the law, with the rule that has to say so. */
const UNLAWFUL = [
  ['packages/leads/src/reads-a-clock.ts', `import 'node:crypto';`, 'leads-is-pure'],
  ['packages/leads/src/logs.ts', `import 'pino';`, 'leads-is-pure'],
  ['packages/contract/src/knows-rules.ts', `import '@leadgate/leads';`, 'contract-is-pure'],
  ['packages/store/src/enqueues.ts', `import '@leadgate/queue';`, 'store-keeps-to-its-packages'],
  ['packages/intake/src/stores.ts', `import '@leadgate/store';`, 'intake-keeps-to-its-packages'],
  ['packages/queue/src/reserves.ts', `import '@leadgate/intake';`, 'queue-keeps-to-its-packages'],
  [
    'packages/queue/src/decides.ts',
    `import { rule } from '@leadgate/leads';\nrule();`,
    'queue-keeps-to-its-packages',
  ],
  ['packages/boot/src/knows-leads.ts', `import '@leadgate/leads';`, 'boot-keeps-to-its-packages'],
  [
    'packages/delivery/src/knows-leads.ts',
    `import '@leadgate/store';`,
    'delivery-keeps-to-its-packages',
  ],
  ['apps/worker/src/calls.ts', `import 'undici';`, 'undici-in-delivery-only'],
  [
    'packages/intake/src/starts.ts',
    `import '../../../apps/worker/src/main.ts';`,
    'packages-import-no-app',
  ],
  ['apps/receiver/src/queries.ts', `import '@leadgate/store';`, 'receiver-keeps-to-its-packages'],
  ['packages/more/src/index.ts', `import 'node:fs';`, 'no-room-without-rule'],
  ['apps/receiver/src/borrows.ts', `import '../../worker/src/main.ts';`, 'apps-stand-alone'],
  [
    'apps/receiver/src/reaches-in.ts',
    `import '../../../packages/leads/src/index.ts';`,
    'packages-by-name',
  ],
  ['apps/receiver/src/starts-servers.ts', `import '@leadgate/testkit';`, 'testkit-in-tests-only'],
  ['apps/worker/src/takes-jobs.ts', `import 'bullmq';`, 'bullmq-in-queue-only'],
  ['apps/cli/src/queries.ts', `import '@prisma/client';`, 'prisma-in-store-only'],
  ['apps/cli/src/mistaken.ts', `import './nowhere.ts';`, 'no-missing'],
  ['apps/cli/src/one.ts', `import './two.ts';\nexport const a = 1;`, 'no-cycles'],
];

/** Files that look alike and keep it, and one that only its partner is told of. */
const LAWFUL = [
  ['apps/cli/src/two.ts', `import { a } from './one.ts';\nexport const b = a;`],
  ['packages/leads/src/parses.ts', `import 'libphonenumber-js';\nimport '@leadgate/contract';`],
  ['packages/store/src/folds.ts', `import { rule } from '@leadgate/leads';\nrule();`],
  ['packages/store/src/asks.ts', `import '@prisma/client';`],
  ['packages/queue/src/opens.ts', `import 'bullmq';`],
  ['apps/worker/src/main.ts', `import '@leadgate/store';\nimport '@leadgate/queue';`],
  ['apps/worker/src/main.test.ts', `import '@leadgate/testkit';\nimport 'node:fs';`],
];

/** @type {string} */
let tree;
/** @type {Map<string, string[]>} */
let broken;

beforeAll(async () => {
  tree = makeTree();
  // Its exit status counts what it found.
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs'),
      ...['--config', join(root, '.dependency-cruiser.js'), '--output-type', 'json'],
      ...['apps', 'packages'],
    ],
    { cwd: tree, maxBuffer: 64 * 1024 * 1024 },
  ).catch((/** @type {{ stdout: string }} */ error) => error);
  broken = new Map();
  for (const { from, rule } of JSON.parse(stdout).summary.violations)
    broken.set(from, [...(broken.get(from) ?? []), rule.name]);
});

afterAll(() => {
  rmSync(tree, { recursive: true, force: true });
});

test.each(UNLAWFUL)('%s, which breaks the import law, is told so', (file, _text, rule) => {
  expect(broken.get(file)).toContain(rule);
});

test.each(LAWFUL)('%s, which keeps the import law, is let be', (file) => {
  expect(broken.get(file)).toBeUndefined();
});

/** A repository in small: the packages' entries, stand-ins for modules, and the files above. */
function makeTree() {
  const folder = mkdtempSync(join(tmpdir(), 'leadgate-law-'));
  const packages = ['contract', 'leads', 'boot', 'store', 'intake', 'queue', 'delivery', 'testkit'];
  const modules = ['bullmq', '@prisma/client', 'libphonenumber-js', 'pino', 'undici'];
  /** @type {Record<string, string>} */
  const files = { 'tsconfig.json': '{}', 'package.json': '{"type":"module"}' };
  for (const name of packages) {
    const exports = { '.': { source: './src/index.ts' } };
    files[`packages/${name}/package.json`] = packageText(`@leadgate/${name}`, modules, { exports });
    files[`packages/${name}/src/index.ts`] =
      'export interface Rule { n: number }\nexport const rule = () => 1;\n';
  }
  for (const name of ['receiver', 'worker', 'cli'])
    files[`apps/${name}/package.json`] = packageText(name, modules, {});
  for (const name of modules) {
    files[`node_modules/${name}/package.json`] = packageText(name, [], { main: 'index.js' });
    files[`node_modules/${name}/index.js`] = 'export {};\n';
  }
  for (const [name = '', text = ''] of [...UNLAWFUL, ...LAWFUL]) files[name] = `${text}\n`;
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  mkdirSync(join(folder, 'node_modules/@leadgate'));
  for (const name of packages)
    symlinkSync(`../../packages/${name}`, join(folder, 'node_modules/@leadgate', name));
  return folder;
}

/**
 * @param {string} name
 * @param {string[]} modules
 * @param {Record<string, unknown>} more
 */
function packageText(name, modules, more) {
  const dependencies = Object.fromEntries(modules.map((module) => [module, '1.0.0']));
  return JSON.stringify({ name, version: '1.0.0', type: 'module', dependencies, ...more });
}
