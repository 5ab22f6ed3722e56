import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Of each thing that a test has started. */
const END_WITHIN_MS = 60_000;

/** What is started for the test that asks, which ends it: what was started last, first. */
export async function forTest<Started extends { stop(): unknown } | { close(): unknown }>(
  starting: Started | Promise<Started>,
): Promise<Started> {
  const started = await starting;
  const end = async () => {
    await ('stop' in started ? started.stop() : started.close());
  };
  onTestFinished(end, END_WITHIN_MS);
  return started;
}

/** An empty folder, which is removed with what is in it when the test that asks is done. */
export function folderForTest(): string {
  const folder = mkdtempSync(join(tmpdir(), 'leadgate-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}
