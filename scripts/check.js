import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ROOT, prepareSources, say } from './prepare.js';
import { runMain } from './run-main.js';

/** Its program, and what mends what it finds. */
const STEPS = [
  {
    name: 'format',
    command: ['prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.'],
    fix: 'npm run format',
  },
  {
    name: 'lint',
    command: ['eslint/bin/eslint.js', '--max-warnings=0', '.'],
    fix: 'npx eslint --fix .',
  },
  {
    name: 'types',
    command: ['typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.json'],
    fix: 'npx tsc --noEmit, and the files it names',
  },
  {
    name: 'types of the pages',
    command: ['typescript/bin/tsc', '--noEmit', '-p', 'apps/web/tsconfig.json'],
    fix: 'npm run openapi, npm run generate, and the files it names',
  },
  {
    name: 'types of the snippet',
    command: ['typescript/bin/tsc', '--noEmit', '-p', 'packages/capture/tsconfig.json'],
    fix: 'npx tsc --noEmit -p packages/capture/tsconfig.json, and the files it names',
  },
  {
    name: 'import law',
    command: [
      ...['dependency-cruiser/bin/dependency-cruise.mjs', '--config', '.dependency-cruiser.js'],
      ...['apps', 'packages', 'scripts', 'bench', 'chaos', 'e2e'],
    ],
    fix: 'the imports it names; the law is in docs/architecture.md',
  },
  {
    name: 'unused',
    command: ['knip/bin/knip.js', '--no-progress'],
    fix: 'remove what it names, or `npx knip --fix`',
  },
];

await runMain(async () => {
  await prepareSources();
  const queue = [...STEPS];
  /** @type {string[]} */
  const failed = [];
  // Two at once: linting and the type check are most of the time.
  const lane = async () => {
    for (let step = queue.shift(); step; step = queue.shift())
      if (!(await runStep(step))) failed.push(`${step.name}: ${step.fix}`);
  };
  queue.sort((a, b) => Number(b.name === 'lint') - Number(a.name === 'lint'));
  await Promise.all([lane(), lane()]);
  if (failed.length === 0) return;
  say(`\n${failed.length.toString()} of ${STEPS.length.toString()} checks failed. To mend:`);
  for (const line of failed) say(`  ${line}`);
  process.exitCode = 1;
});

/**
 * @param {(typeof STEPS)[number]} step
 * @returns {Promise<boolean>}
 */
async function runStep({ name, command }) {
  const [program = '', ...args] = command;
  const start = Date.now();
  const child = spawn(process.execPath, [`node_modules/${program}`, ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += String(chunk);
    });
  const [code] = await once(child, 'close');
  const seconds = ((Date.now() - start) / 1000).toFixed(1);
  say(`${code === 0 ? 'ok    ' : 'FAILED'}  ${name}  (${seconds} s)`);
  if (code !== 0) say(output.trimEnd());
  return code === 0;
}
