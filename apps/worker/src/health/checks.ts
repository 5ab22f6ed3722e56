import type { ApplyWorker, QueueCounts } from '@leadgate/queue';
import type { HealthChecks } from './health-server.ts';
import { createLiveness } from './liveness.ts';

export interface HealthSources {
  progress: ApplyWorker['progress'];
  /** Rejects or never resolves where Redis is away. */
  counts: () => Promise<QueueCounts>;
  redisIsReady: () => boolean;
  postgresIsAway: () => boolean;
  /** What is weaker than it should be; told in /ready, which stays good. */
  warnings: string[];
}

const COUNT_TIMEOUT_MS = 1_000;
const STUCK_AFTER_MS = 60_000;

/** What /live and /ready answer: alive by progress; ready where both servers answer. */
export function createHealthChecks(sources: HealthSources): HealthChecks {
  const judge = createLiveness({ stuckAfterMs: STUCK_AFTER_MS });
  return {
    async live() {
      const counts = await countsOrNull(sources);
      const progress = sources.progress();
      const liveness = judge({
        now: Date.now(),
        progress,
        waiting: counts === null ? null : counts.paused ? 0 : counts.waiting,
        holding: sources.postgresIsAway(),
      });
      return { ok: liveness.kind === 'alive', body: { ...liveness, ...progress } };
    },
    ready() {
      const redis = sources.redisIsReady() ? 'ok' : 'away';
      const postgres = sources.postgresIsAway() ? 'away' : 'ok';
      return Promise.resolve({
        ok: redis === 'ok' && postgres === 'ok',
        body: { redis, postgres, warnings: sources.warnings },
      });
    },
  };
}

async function countsOrNull({ counts, redisIsReady }: HealthSources): Promise<QueueCounts | null> {
  if (!redisIsReady()) return null;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), COUNT_TIMEOUT_MS);
  });
  try {
    return await Promise.race([counts().catch(() => null), late]);
  } finally {
    clearTimeout(timer);
  }
}
