import { defineConfig } from 'vitest/config';

// Packages run from src/: `source` stands first in their exports.
const conditions = ['source', 'module', 'node'];

export default defineConfig({
  resolve: { conditions },
  // Where vitest loads the global setup.
  environments: { __vitest__: { resolve: { conditions } } },
  ssr: { resolve: { conditions, externalConditions: ['source', 'node'] } },
  test: {
    include: ['{apps,packages,scripts,chaos,e2e}/**/*.test.{ts,js}'],
    // Those need a browser: `npm run test:browser`.
    exclude: ['**/node_modules/**', '**/dist/**', '**/generated/**', '**/*.browser.test.ts'],
    globalSetup: ['packages/testkit/src/global-setup.ts'],
    reporters: ['default', './scripts/test-count.js'],
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 30_000,
    restoreMocks: true,
  },
});
