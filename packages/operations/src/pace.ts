import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

/**
 * Keeps to a rate: each call resolves when its turn has come, at most `perSecond` of them a second,
 * without bursts. Resolves at once without a rate, and once `signal` says to stop.
 */
export function createPace(
  perSecond: number | undefined,
  signal?: AbortSignal,
): () => Promise<void> {
  if (perSecond === undefined) return () => Promise.resolve();
  const everyMs = 1_000 / perSecond;
  let next = performance.now();
  return async () => {
    const now = performance.now();
    const turn = Math.max(next, now);
    next = turn + everyMs;
    // A timer is only good for milliseconds; what is nearer goes at once and is made up for later.
    if (turn - now >= 1)
      await delay(turn - now, undefined, { ...(signal && { signal }) }).catch(() => undefined);
  };
}

/** Gives way to what else the process has to do, after ten milliseconds of work. */
export type Breathing = () => Promise<void> | undefined;

export function createBreathing(): Breathing {
  let since = performance.now();
  return () => {
    if (performance.now() - since < BREATHE_AFTER_MS) return undefined;
    return nextTurn().then(() => void (since = performance.now()));
  };
}

const BREATHE_AFTER_MS = 10;
