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
  /** Rejects, or never resolves, where Postgres cannot be used. */
  askPostgres: () => Promise<unknown>;
  /** What is weaker than it should be; told in /ready, which stays good. */
  warnings: string[];
  /** Milliseconds without progress, while jobs wait, after which the worker is not alive. */
  stuckAfterMs: number;
}

const ANSWER_TIMEOUT_MS = 1_000;

/** What /live and /ready answer: alive by progress; ready where both servers let it work. */
export function createHealthChecks(sources: HealthSources): HealthChecks {
  const judge = createLiveness(sources);
  const countJobs = async () => (sources.redisIsReady() ? answerOf(sources.counts()) : null);
  const postgresAnswers = async () => (await answerOf(sources.askPostgres())) !== null;

  return {
    async live() {
      const progress = sources.progress();
      const counts = progress.refusal === null ? await countJobs() : null;
      const liveness = judge({
        now: Date.now(),
        progress,
        waiting: counts === null ? null : counts.paused ? 0 : counts.waiting,
        // A worker that holds its jobs though Postgres answers is stuck like any other.
        holding: sources.postgresIsAway() && !(await postgresAnswers()),
      });
      return { ok: liveness.kind === 'alive', body: { ...liveness, ...progress } };
    },
    async ready() {
      const [counts, answers] = await Promise.all([countJobs(), postgresAnswers()]);
      const { refusal } = sources.progress();
      const redis = counts === null ? 'away' : refusal === null ? 'ok' : refusalInWords(refusal);
      // Jobs know first: there may be one connection left for asking, and none for working.
      const postgres = answers && !sources.postgresIsAway() ? 'ok' : 'away';
      return {
        ok: redis === 'ok' && postgres === 'ok',
        body: { redis, postgres, warnings: sources.warnings },
      };
    },
  };
}

function refusalInWords(refusal: string): string {
  return refusal === 'OOM' ? 'full: raise maxmemory' : `refuses (${refusal})`;
}

/** The answer, or null where there is none in time. */
async function answerOf<T>(answer: Promise<T>): Promise<T | null> {
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
