import { existsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { fromSources } from './scripts/vitest-sources.js';

const SERVERS = 'packages/testkit/src/global-setup.ts';

/** Those of npm test that say what a Cluster could break: scripts, properties, the queue, whole posts. */
const ON_A_CLUSTER = [
  'packages/intake/src/reservation/reserver.integration.test.ts',
  'packages/intake/src/reservation/reserver-model.integration.test.ts',
  'packages/intake/src/reservation/limits.integration.test.ts',
  'packages/intake/src/refill/refill.integration.test.ts',
  'packages/intake/src/rejected.integration.test.ts',
  'packages/intake/src/spool/drain.integration.test.ts',
  'packages/queue/src/jobs.integration.test.ts',
  'apps/receiver/src/start-receiver.integration.test.ts',
  'apps/worker/src/start-worker.integration.test.ts',
  'e2e/many-processes.e2e.test.ts',
  'e2e/public-cases.e2e.test.ts',
];
for (const file of ON_A_CLUSTER)
  if (!existsSync(file)) throw new Error(`${file} is to run on a Cluster, and is not there`);

// Run by npm run test:cluster, which finds the programs.
export default defineConfig({
  ...fromSources,
  test: {
    reporters: ['default', './scripts/test-count.js'],
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
          name: 'on a cluster',
          // Each file empties the one Cluster that all of them are given.
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
          include: ON_A_CLUSTER,
          globalSetup: [SERVERS, 'packages/testkit/src/cluster-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'servers of their own',
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
          include: ['{apps,packages,e2e}/**/*.cluster.test.ts'],
          globalSetup: [SERVERS],
        },
      },
    ],
  },
});
