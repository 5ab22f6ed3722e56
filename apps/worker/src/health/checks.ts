import { answerWithin, type HealthChecks } from '@leadgate/boot';
import type { ApplyWorker, Progress, ShardStanding } from '@leadgate/queue';

export interface HealthSources {
  progress: ApplyWorker['progress'];
  /** Rejects or never resolves if Redis is away. */
  shards: () => Promise<Pick<ShardStanding, 'shard' | 'waiting' | 'paused'>[]>;
  redisIsReady: () => boolean;
  /** What `shards` asks, by a connection made for it. Rejects if there is none to be had. */
  askRedisAnew: () => Promise<unknown>;
  /** As jobs found it. */
  postgresIsAway: () => boolean;
  /** Rejects, or never resolves, if Postgres cannot be used. */
  askPostgres: () => Promise<unknown>;
  /** The same, by a connection made for it. */
  askPostgresAnew: () => Promise<unknown>;
  /** What is weaker than it should be; told in /ready, which stays good. */
  warnings: string[];
  /** Milliseconds without progress, while jobs wait, after which the worker is not alive. */
  stuckAfterMs: number;
}

const ANSWER_TIMEOUT_MS = 1_000;

/**
 * What /live and /ready answer: alive by the progress of each shard that it takes; ready if both
 * servers let it work.
 */
export function createHealthChecks(sources: HealthSources): HealthChecks {
  const ofShards = new Map<number, ReturnType<typeof createLiveness>>();
  const livenessOf = (shard: number) => {
    const liveness = ofShards.get(shard) ?? createLiveness(sources);
    ofShards.set(shard, liveness);
    return liveness;
  };
  const askShards = async () => (sources.redisIsReady() ? answerOf(sources.shards()) : null);
  const postgresAnswers = async () => (await answerOf(sources.askPostgres())) !== null;
  // One that answers a new connection is away for this process alone: the next one could work.
  const askRedisAnew = oneAtATime(sources.askRedisAnew);
  const redisAnswersAnew = async () => (await answerOf(askRedisAnew())) !== null;
  const askPostgresAnew = oneAtATime(sources.askPostgresAnew);
  const postgresAnswersAnew = async () => (await answerOf(askPostgresAnew())) !== null;

  return {
    async live() {
      const progress = sources.progress();
      // What only a newer worker can read waits for one: to start this one again would not help.
      const canWork = progress.refusal === null && progress.unknownVersion === null;
      const shards = canWork ? await askShards() : null;
      const cutOff = canWork && shards === null && (await redisAnswersAnew());
      // A worker that holds its jobs though Postgres answers is stuck like any other.
      const holding =
        sources.postgresIsAway() && !(await postgresAnswers()) && !(await postgresAnswersAnew());
      const now = Date.now();
      const all = progress.shards.map((one): Liveness => {
        const standing = shards?.find(({ shard }) => shard === one.shard);
        const waiting = standing === undefined || standing.paused ? 0 : standing.waiting;
        return livenessOf(one.shard)({
          now,
          progress: one,
          waiting: cutOff ? Infinity : shards === null ? null : waiting,
          holding,
        });
      });
      const liveness = all.find(({ kind }) => kind === 'stuck') ?? { kind: 'alive' };
      return { ok: liveness.kind === 'alive', body: { ...liveness, ...progress } };
    },
    async ready() {
      const [shards, answers] = await Promise.all([askShards(), postgresAnswers()]);
      const { refusal, unknownVersion } = sources.progress();
      const redis = shards === null ? 'away' : refusal === null ? 'ok' : refusalInWords(refusal);
      // Jobs know first: there may be one connection left for asking, and none for working.
      const postgres = answers && !sources.postgresIsAway() ? 'ok' : 'away';
      return {
        ok: redis === 'ok' && postgres === 'ok' && unknownVersion === null,
        body: {
          redis,
          postgres,
          ...(unknownVersion !== null && {
            jobs: `of version ${unknownVersion}: update this worker`,
          }),
          warnings: sources.warnings,
        },
      };
    },
  };
}

function refusalInWords(refusal: string): string {
  return refusal === 'OOM' ? 'full: raise maxmemory' : `refuses (${refusal})`;
}

const answerOf = <T>(answer: Promise<T>) => answerWithin(answer, ANSWER_TIMEOUT_MS);

/** Asks anew only when the question before has its answer: however many want it, they share it. */
function oneAtATime<T>(ask: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | null = null;
  return () => (underWay ??= ask().finally(() => (underWay = null)));
}

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
 * A worker is stuck when there was work it could have done for `stuckAfterMs`
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
