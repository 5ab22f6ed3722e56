import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/longest-first.js';
import { fromSources } from './scripts/vitest-sources.js';

export default defineConfig({
  ...fromSources,
  test: {
    include: ['{apps,packages,scripts,chaos,e2e,bench}/**/*.test.{ts,js}'],
    exclude: [
      ...['**/node_modules/**', '**/dist/**', '**/generated/**'],
      // Those need a browser, or a Redis Cluster: `npm run test:browser`, `npm run test:cluster`.
      ...['**/*.browser.test.ts', '**/*.cluster.test.ts'],
    ],
    globalSetup: ['packages/testkit/src/global-setup.ts'],
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
  },
});
