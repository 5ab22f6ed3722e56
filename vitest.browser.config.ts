import { defineConfig } from 'vitest/config';
import { fromSources } from './scripts/vitest-sources.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the browser. */
    chromium: string;
    /** A receiver that runs, with an open and a disabled link; null: a stand-in for one. */
    receiver: { url: string; open: string; closed: string } | null;
  }
}

const { CHROME_PATH, RECEIVER_URL, RECEIVER_OPEN_LINK, RECEIVER_CLOSED_LINK } = process.env;

/** One that runs somewhere else. */
const given =
  RECEIVER_URL && RECEIVER_OPEN_LINK && RECEIVER_CLOSED_LINK
    ? { url: RECEIVER_URL, open: RECEIVER_OPEN_LINK, closed: RECEIVER_CLOSED_LINK }
    : null;

const SERVERS = 'packages/testkit/src/global-setup.ts';

// Run by npm run test:browser, which finds the browser.
export default defineConfig({
  ...fromSources,
  test: {
    reporters: ['default', './scripts/test-count.js'],
    maxWorkers: 2,
    // As in vitest.config.ts.
    retry: 1,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    exclude: ['**/node_modules/**', '**/dist/**'],
    provide: { chromium: CHROME_PATH ?? '/usr/bin/chromium', receiver: given },
    projects: [
      {
        extends: true,
        test: { name: 'snippet', include: ['packages/**/*.browser.test.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'snippet on a receiver',
          include: ['packages/**/*.browser.test.ts'],
          globalSetup: ['e2e/browser-receiver.ts'],
        },
      },
      {
        extends: true,
        test: { name: 'pages', include: ['apps/**/*.browser.test.ts'], globalSetup: [SERVERS] },
      },
    ],
  },
});
