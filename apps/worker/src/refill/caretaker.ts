import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@leadgate/boot';
import type { Wait } from '../groups/outage.ts';

/** A thing to look after. Says what it did, for the log, or null when there was nothing to do. */
export interface Chore {
  name: string;
  run: () => Promise<Record<string, unknown> | null>;
}

/** A long refill is not worth a slow shutdown: cut off, it leaves the markers as they were. */
const PATIENCE_MS = 2_000;

/**
 * Runs the chores one after the other, and again after `pauseMs`, until closed. A chore that fails
 * is logged when it begins to fail and when it works again, and keeps no other from running.
 */
export function startCaretaker({
  chores,
  pauseMs,
  wait,
  logger,
}: {
  chores: Chore[];
  pauseMs: number;
  wait: Wait;
  logger: Pick<Logger, 'info' | 'warn'>;
}): { close(): Promise<void> } {
  const closing = new AbortController();
  const failing = new Set<string>();

  async function run({ name, run }: Chore): Promise<void> {
    const start = performance.now();
    try {
      const done = await run();
      if (failing.delete(name)) logger.info({ chore: name }, 'chore works again');
      if (done !== null)
        logger.info(
          { chore: name, ...done, ms: Math.round(performance.now() - start) },
          'chore done',
        );
    } catch (err) {
      if (failing.has(name) || closing.signal.aborted) return;
      failing.add(name);
      logger.warn({ chore: name, err }, 'chore failed; trying again');
    }
  }

  async function loop(): Promise<void> {
    while (!closing.signal.aborted) {
      for (const chore of chores) if (!closing.signal.aborted) await run(chore);
      await wait(pauseMs, closing.signal).catch(() => {});
    }
  }

  const looping = loop();
  return {
    async close() {
      closing.abort();
      await Promise.race([looping, delay(PATIENCE_MS, undefined, { ref: false })]);
    },
  };
}
