import { chromium, type Browser } from 'playwright-core';
import { inject } from 'vitest';

/** The machine's own Chromium, without a window, and calling nobody. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: inject('chromium'),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
