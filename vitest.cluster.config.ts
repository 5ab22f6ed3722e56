import { defineConfig } from 'vitest/config';

const conditions = ['source', 'module', 'node'];
const SERVERS = 'packages/testkit/src/global-setup.ts';

// Run by scripts/test-cluster.js, which finds the programs.
export default defineConfig({
  resolve: { conditions },
  // Where vitest loads the global setup.
  environments: { __vitest__: { resolve: { conditions } } },
  ssr: { resolve: { conditions, externalConditions: ['source', 'node'] } },
  test: {
    reporters: ['default', './scripts/test-count.js'],
    // A file alone with its six servers is enough for two cores, and empties the cluster it is given.
    maxWorkers: 1,
    // As in vitest.config.ts.
    retry: 1,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    exclude: ['**/node_modules/**', '**/dist/**'],
    restoreMocks: true,
    projects: [
      {
        extends: true,
        test: {
          name: 'servers of their own',
          include: ['{apps,packages,e2e}/**/*.cluster.test.ts'],
          globalSetup: [SERVERS],
        },
      },
    ],
  },
});
