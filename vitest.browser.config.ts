import { defineConfig } from 'vitest/config';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the browser. */
    chromium: string;
    /** A receiver that runs, with an open and a disabled link; null: a stand-in for one. */
    receiver: { url: string; open: string; closed: string } | null;
  }
}

const { CHROME_PATH, RECEIVER_URL, RECEIVER_OPEN_LINK, RECEIVER_CLOSED_LINK } = process.env;

const conditions = ['source', 'module', 'node'];

// Run by scripts/test-browser.js, which finds the browser.
export default defineConfig({
  resolve: { conditions },
  // Where vitest loads the global setup.
  environments: { __vitest__: { resolve: { conditions } } },
  ssr: { resolve: { conditions, externalConditions: ['source', 'node'] } },
  test: {
    include: ['{apps,packages}/**/*.browser.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    globalSetup: ['packages/testkit/src/global-setup.ts'],
    reporters: ['default', './scripts/test-count.js'],
    // One browser at a time is enough for two cores.
    maxWorkers: 1,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    provide: {
      chromium: CHROME_PATH ?? '/usr/bin/chromium',
      receiver:
        RECEIVER_URL && RECEIVER_OPEN_LINK && RECEIVER_CLOSED_LINK
          ? { url: RECEIVER_URL, open: RECEIVER_OPEN_LINK, closed: RECEIVER_CLOSED_LINK }
          : null,
    },
  },
});
