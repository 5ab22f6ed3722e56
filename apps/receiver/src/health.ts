import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import {
  answerWithin,
  awaitRedis,
  connectRedis,
  durabilityFindings,
  inspectRedis,
  mastersOf,
  type RedisConnection,
  withinTime,
} from '@leadgate/boot';
import type { Backpressure } from '@leadgate/intake';
import { Type } from 'typebox';
import type { ReceiverConfig } from './config.ts';
import type { SpoolDir } from './spool.ts';

interface Readiness {
  ready: boolean;
  /** Why it is not ready. */
  reasons: string[];
  /** What makes its promises weaker than they should be. */
  warnings: string[];
}

export interface Health extends Pick<Liveness, 'cutOffMs'> {
  readiness(): Promise<Readiness>;
  /** Not ready from now on: the process is about to stop. */
  stop(): void;
}

/** Anyone may ask, so Redis is asked at most this often. */
const KEPT_MS = 1_000;
const INSPECT_WITHIN_MS = 1_000;

/**
 * Whether this receiver can make leads durable now: in Redis, which answers, is fit to keep them and
 * has room, and whose links are complete; or in the spool. On the spool alone it is ready, with a
 * warning: to be taken off the load balancer would lose what it is there for.
 */
export function createHealth({
  redis,
  directoryIsComplete,
  backpressure,
  spoolDir,
  liveness,
  clock,
}: {
  redis: RedisConnection;
  liveness: Pick<Liveness, 'cutOffMs'>;
  directoryIsComplete: () => boolean;
  backpressure: () => Backpressure | null;
  spoolDir: Pick<SpoolDir, 'isUsable' | 'warnings'> | null;
  clock: () => number;
}): Health {
  let stopping = false;
  let askedAt = -Infinity;
  let findings = Promise.resolve<Findings>({ fatal: [], warnings: [] });

  return {
    cutOffMs: liveness.cutOffMs,
    stop: () => void (stopping = true),
    async readiness() {
      if (clock() - askedAt >= KEPT_MS) {
        askedAt = clock();
        findings = inspect(redis);
      }
      const { fatal, warnings } = await findings;
      const faults = [...fatal];
      if (!directoryIsComplete())
        faults.push('The link directory is not complete: the worker has to refill it.');
      const pressure = backpressure();
      if (pressure !== null && fatal.length === 0) faults.push(pressure.reason);
      const isOnSpool = faults.length > 0 && spoolDir?.isUsable() === true;
      const reasons = isOnSpool ? [] : faults;
      if (stopping) reasons.push('The receiver is stopping.');
      return {
        ready: reasons.length === 0,
        reasons,
        warnings: [
          ...(isOnSpool ? [...faults, 'Leads are kept in the spool until this has passed.'] : []),
          ...(spoolDir?.warnings() ?? []),
          ...warnings,
        ],
      };
    },
  };
}

type Findings = ReturnType<typeof durabilityFindings>;

async function inspect(redis: RedisConnection): Promise<Findings> {
  try {
    const inspected = inspectRedis(redis);
    return durabilityFindings(await withinTime(inspected, INSPECT_WITHIN_MS, 'no answer'));
  } catch {
    return { fatal: ['Redis does not answer.'], warnings: [] };
  }
}

const Live = Type.Object({ status: Type.Literal('live') }, { description: 'It runs.' });
const CutOff = Type.Object(
  { status: Type.Literal('cut-off'), forMs: Type.Integer() },
  { description: 'Redis answers others and not this process: start it again.' },
);

const ready = (status: 'ready' | 'not-ready', description: string) =>
  Type.Object(
    {
      status: Type.Literal(status),
      reasons: Type.Array(Type.String(), { description: 'Why it is not ready.' }),
      warnings: Type.Array(Type.String(), {
        description: 'What makes its promises weaker than they should be.',
      }),
    },
    { description },
  );

/** GET /live: the event loop turns, and a start would mend nothing. GET /ready: leads can be taken. */
export const healthRoutes: FastifyPluginAsyncTypebox<{ health: Health }> = async (
  app,
  { health },
) => {
  app.get(
    '/live',
    {
      schema: {
        operationId: 'live',
        summary: 'Whether it runs',
        response: { 200: Live, 503: CutOff },
      },
    },
    async (_request, reply) => {
      const forMs = health.cutOffMs();
      return forMs === null
        ? reply.code(200).send({ status: 'live' })
        : reply.code(503).send({ status: 'cut-off', forMs });
    },
  );

  app.get(
    '/ready',
    {
      schema: {
        operationId: 'ready',
        summary: 'Whether it can take leads',
        response: {
          200: ready('ready', 'It can.'),
          503: ready('not-ready', 'It cannot, for these reasons.'),
        },
      },
    },
    async (_request, reply) => {
      const { ready, reasons, warnings } = await health.readiness();
      return ready
        ? reply.code(200).send({ status: 'ready', reasons, warnings })
        : reply.code(503).send({ status: 'not-ready', reasons, warnings });
    },
  );
};

export interface Liveness {
  /** Milliseconds for which this process alone has been cut off, if that is longer than its window. */
  cutOffMs: () => number | null;
  close: () => void;
}

const ANSWER_TIMEOUT_MS = 1_000;

/**
 * Watches whether a start would help: this process's own connections to Redis are not answered, and one
 * that is made to find out is. A Redis that answers nobody is no reason to start again, nor is it after
 * it came back. Looked at four times a window, one look at a time.
 */
export function watchLiveness(
  { redis, subscriber }: { redis: RedisConnection; subscriber: RedisConnection },
  { REDIS_URL, REDIS_CLUSTER: cluster, LIVENESS_WINDOW_MS: windowMs }: ReceiverConfig,
): Liveness {
  const answers = async (): Promise<boolean> =>
    subscriber.status === 'ready' && (await answersAll(redis));
  const answersAnew = async (): Promise<boolean> => {
    const fresh = connectRedis(REDIS_URL, { role: 'producer', cluster });
    try {
      await awaitRedis(fresh, { timeoutMs: ANSWER_TIMEOUT_MS });
      return await answersAll(fresh);
    } catch {
      return false;
    } finally {
      fresh.disconnect();
    }
  };

  let excusedAt = performance.now();
  let cutOff = false;
  let looking = false;
  const look = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    cutOff = !(await answers()) && (await answersAnew());
    if (!cutOff) excusedAt = performance.now();
    looking = false;
  };
  const timer = setInterval(() => void look(), windowMs / 4);
  return {
    cutOffMs: () => {
      const forMs = Math.round(performance.now() - excusedAt);
      return cutOff && forMs > windowMs ? forMs : null;
    },
    close: () => clearInterval(timer),
  };
}

/** Every master: in a Cluster one that is silent is as bad as all. */
async function answersAll(redis: RedisConnection): Promise<boolean> {
  const pings = Promise.all(mastersOf(redis).map((node) => node.ping()));
  return ((await answerWithin(pings, ANSWER_TIMEOUT_MS))?.length ?? 0) > 0;
}
