import { awaitRedis, connectRedis, createLogger } from '@leadgate/boot';
import { sampleSubmission, testRedis } from '@leadgate/testkit';
import { expect, test, vi } from 'vitest';
import { startApplyWorker } from './apply-worker.ts';
import { openProducer } from './producer.ts';
import { each, FAILED } from '../test/queue.ts';

const logger = createLogger({ name: 'test', level: 'silent', pretty: false });
/** Of the first retry. */
const DELAY_MS = 1_000;

test('a mass of retries that are due goes behind the leads that wait, not before them', async () => {
  const { url } = await testRedis();
  const redis = connectRedis(url, { role: 'producer' });
  const working = connectRedis(url, { role: 'worker' });
  await awaitRedis(redis);
  const producer = await openProducer(redis, { logger });
  const bad = Array.from({ length: 30 }, (_, n) => sampleSubmission(n));
  const good = Array.from({ length: 30 }, (_, n) => sampleSubmission(100 + n));
  const isBad = new Set(bad.map(({ id }) => id));
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const applied: string[] = [];
  const triesOf = new Map<string, number>();
  /** When the first good one was taken: all bad ones have failed by then. */
  let begun: number | undefined;
  for (const one of [...bad, ...good]) await producer.enqueue(one);
  const worker = await startApplyWorker(working, {
    concurrency: 1,
    logger,
    apply: each(async ({ id }) => {
      const tries = (triesOf.get(id) ?? 0) + 1;
      triesOf.set(id, tries);
      // With what it came with, and then once in a job of its own.
      if (isBad.has(id) && tries <= 2) return FAILED;
      if (!isBad.has(id)) {
        begun ??= performance.now();
        await released;
      }
      applied.push(id);
      return undefined;
    }),
  });
  try {
    await vi.waitFor(
      () => expect(performance.now() - (begun ?? Infinity)).toBeGreaterThan(DELAY_MS + 100),
      { timeout: 20_000 },
    );
    release();
    await vi.waitFor(() => expect(applied).toHaveLength(good.length + bad.length), 20_000);
    // They become due before the first lead is done, and still wait for the last one.
    expect(applied.slice(0, good.length)).toEqual(good.map(({ id }) => id));
  } finally {
    await worker.close({ timeoutMs: 2_000 });
    await producer.close();
    redis.disconnect();
    working.disconnect();
  }
});
