import { chromium, type Browser } from 'playwright-core';
import { inject } from 'vitest';

/** The machine's own Chromium, without a window, and calling nobody. Closed by the caller. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: inject('chromium'),
    // What asks the internet by itself is off as Playwright has it.
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic'],
  });
}
