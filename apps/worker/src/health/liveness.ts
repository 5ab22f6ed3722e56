import type { Progress } from '@leadgate/queue';

export interface LivenessFacts {
  /** Milliseconds since 1970. */
  now: number;
  /** Of one shard. */
  progress: Pick<Progress, 'active' | 'lastProgressAt'>;
  /** Jobs that could be taken; null if Redis does not say. */
  waiting: number | null;
  /** Whether the worker takes no jobs on purpose, as Postgres is away. */
  holding: boolean;
}

export type Liveness = { kind: 'alive' } | { kind: 'stuck'; forMs: number };

/**
 * Judges by progress: a worker is stuck when there was work it could have done for `stuckAfterMs`
 * and none got done. Time without work, without Redis or without Postgres does not count, as
 * starting the process again would not help.
 */
export function createLiveness({
  stuckAfterMs,
}: {
  stuckAfterMs: number;
}): (facts: LivenessFacts) => Liveness {
  let excusedAt = 0;
  return ({ now, progress, waiting, holding }) => {
    if (holding || waiting === null || (waiting === 0 && progress.active === 0)) {
      excusedAt = now;
      return { kind: 'alive' };
    }
    const forMs = now - Math.max(excusedAt, progress.lastProgressAt);
    return forMs > stuckAfterMs ? { kind: 'stuck', forMs } : { kind: 'alive' };
  };
}
