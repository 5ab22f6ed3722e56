import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/longest-first.js';
import { fromSources } from './scripts/vitest-sources.js';

const FOLDERS = '{apps,packages,scripts,chaos,e2e,bench}/**';
const NOT_HERE = [
  ...['**/node_modules/**', '**/dist/**', '**/generated/**'],
  // Those need a browser, or a Redis Cluster: `npm run test:browser`, `npm run test:cluster`.
  ...['**/*.browser.test.ts', '**/*.cluster.test.ts'],
];

/**
 * They have a process of their own: those that mock a module, measure memory or count the commands of their
 * process, and those that others have disturbed.
 */
const ALONE = [
  'packages/testkit/**/*.integration.test.ts',
  'packages/intake/src/spool/*.integration.test.ts',
  'packages/operations/src/{import,replay}/*.integration.test.ts',
  '**/{link-changes,apply-worker,reserver-model}.integration.test.ts',
];

export default defineConfig({
  ...fromSources,
  test: {
    reporters: ['default', './scripts/test-count.js'],
    // More than cores: tests of outages wait most of their time.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // Processes are killed and servers taken away here: a machine that stands still for a second is told
    // from a fault by a second run, and what passed only then is named at the end (scripts/test-count.js).
    retry: 1,
    testTimeout: 20_000,
    hookTimeout: 30_000,
    restoreMocks: true,
    // Prisma compiles queries with a WebAssembly: optimising it takes longer than a file's few queries.
    execArgv: ['--liftoff-only'],
    projects: [
      {
        extends: true,
        test: {
          name: 'alone',
          include: ALONE,
          exclude: NOT_HERE,
          globalSetup: ['packages/testkit/src/global-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'together',
          include: [`${FOLDERS}/*.{integration,e2e}.test.{ts,js}`],
          exclude: [...NOT_HERE, ...ALONE],
          // Loading modules anew takes as much CPU as the tests of a file do.
          isolate: false,
          setupFiles: ['packages/testkit/src/after-a-file.ts'],
          globalSetup: ['packages/testkit/src/global-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'no servers',
          include: [`${FOLDERS}/*.test.{ts,js}`],
          exclude: [...NOT_HERE, '**/*.{integration,e2e}.test.{ts,js}'],
          // They leave nothing behind, and loading modules anew takes longer than what they test.
          isolate: false,
        },
      },
    ],
  },
});
