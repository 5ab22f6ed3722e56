import type { ApplyWorker, QueueCounts } from '@leadgate/queue';
import type { HealthChecks } from './health-server.ts';
import { createLiveness } from './liveness.ts';

export interface HealthSources {
  progress: ApplyWorker['progress'];
  /** Rejects or never resolves where Redis is away. */
  counts: () => Promise<QueueCounts>;
  redisIsReady: () => boolean;
  /** As jobs found it. */
  postgresIsAway: () => boolean;
  /** Rejects where Postgres cannot be used. */
  askPostgres: () => Promise<unknown>;
  /** What is weaker than it should be; told in /ready, which stays good. */
  warnings: string[];
  /** Milliseconds without progress, while jobs wait, after which the worker is not alive. */
  stuckAfterMs: number;
}

const ANSWER_TIMEOUT_MS = 1_000;

/** What /live and /ready answer: alive by progress; ready where both servers answer. */
export function createHealthChecks(sources: HealthSources): HealthChecks {
  const judge = createLiveness(sources);
  return {
    async live() {
      const counts = sources.redisIsReady() ? await inTime(sources.counts()) : null;
      const progress = sources.progress();
      const liveness = judge({
        now: Date.now(),
        progress,
        waiting: counts === null ? null : counts.paused ? 0 : counts.waiting,
        holding: sources.postgresIsAway(),
      });
      return { ok: liveness.kind === 'alive', body: { ...liveness, ...progress } };
    },
    async ready() {
      const redis = sources.redisIsReady() ? 'ok' : 'away';
      const answer = sources.postgresIsAway() ? null : await inTime(sources.askPostgres());
      const postgres = answer === null ? 'away' : 'ok';
      return {
        ok: redis === 'ok' && postgres === 'ok',
        body: { redis, postgres, warnings: sources.warnings },
      };
    },
  };
}

/** The answer, or null where there is none in time. */
async function inTime<T>(answer: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ANSWER_TIMEOUT_MS);
  });
  try {
    return await Promise.race([answer.catch(() => null), late]);
  } finally {
    clearTimeout(timer);
  }
}
