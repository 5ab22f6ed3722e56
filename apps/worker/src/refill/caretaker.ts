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

/** Times the deadline: what has not ended by then never will, and is begun anew. */
const LOST_AFTER = 20;

/**
 * Runs the chores one after the other, and again after `pauseMs`, until closed. A chore that fails
 * is logged when it begins to fail and when it works again, and keeps no other from running. Nor does
 * one that takes longer than `deadlineMs`: the others go on, and it is not begun again before it ends.
 */
export function startCaretaker({
  chores,
  pauseMs,
  deadlineMs,
  wait,
  logger,
}: {
  chores: Chore[];
  pauseMs: number;
  deadlineMs: number;
  wait: Wait;
  logger: Pick<Logger, 'info' | 'warn'>;
}): { close(): Promise<void> } {
  const closing = new AbortController();
  const failing = new Set<string>();
  const underWay = new Map<string, { since: number }>();

  async function runInTime(chore: Chore): Promise<void> {
    const { name } = chore;
    const before = underWay.get(name);
    if (before !== undefined && performance.now() - before.since < LOST_AFTER * deadlineMs) return;
    const mine = { since: performance.now() };
    underWay.set(name, mine);
    const running = run(chore).then(() => {
      if (underWay.get(name) === mine) underWay.delete(name);
    });
    const timer = new AbortController();
    const passed = delay(deadlineMs, 'passed', { ref: false, signal: timer.signal });
    const outcome = await Promise.race([running, passed.catch(() => undefined)]);
    timer.abort();
    if (outcome === 'passed')
      logger.warn({ chore: name, ms: deadlineMs }, 'chore takes long; the others go on');
  }

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
      for (const chore of chores) if (!closing.signal.aborted) await runInTime(chore);
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
