import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/longest-first.js';
import { fromSources } from './scripts/vitest-sources.js';

const FOLDERS = '{apps,packages,scripts,chaos,e2e,bench}/**';
const NOT_HERE = [
  ...['**/node_modules/**', '**/dist/**', '**/generated/**'],
  // Those need a browser, or a Redis Cluster: `npm run test:browser`, `npm run test:cluster`.
  ...['**/*.browser.test.ts', '**/*.cluster.test.ts'],
];

/** They close all that they open, and change nothing for each other. */
const STORE = ['packages/store/**/*.integration.test.ts'];

export default defineConfig({
  ...fromSources,
  test: {
    reporters: ['default', './scripts/test-count.js'],
    // More than cores: tests of outages wait most of their time.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // Processes are killed and servers taken away here: a machine that stands still for a second is told
    // from a fault by a second run, and what passed only then is named at the end (scripts/test-count.js).
    retry: 1,
    testTimeout: 20_000,
    hookTimeout: 30_000,
    restoreMocks: true,
    projects: [
      {
        extends: true,
        test: {
          name: 'servers',
          include: [`${FOLDERS}/*.{integration,e2e}.test.{ts,js}`],
          exclude: [...NOT_HERE, ...STORE],
          globalSetup: ['packages/testkit/src/global-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'store',
          include: STORE,
          exclude: NOT_HERE,
          // Loading modules anew takes as much CPU as the tests of a file do.
          isolate: false,
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
