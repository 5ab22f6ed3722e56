import { durabilityFindings, inspectRedis, type RedisConnection } from '@leadgate/boot';
import { withinTime, type Backpressure } from '@leadgate/intake';

interface Readiness {
  ready: boolean;
  /** Why it is not ready. */
  reasons: string[];
  /** What makes its promises weaker than they should be. */
  warnings: string[];
}

export interface Health {
  readiness(): Promise<Readiness>;
  /** Not ready from now on: the process is about to stop. */
  stop(): void;
}

/** Anyone may ask, so Redis is asked at most this often. */
const KEPT_MS = 1_000;
const INSPECT_WITHIN_MS = 1_000;

/** The other place where leads are durable. */
export interface Refuge {
  /** It would take a lead now, and knows links without Redis. */
  isUsable(): boolean;
  /** What an operator should look at. */
  warnings(): string[];
}

/**
 * Whether this receiver can make leads durable now: in Redis, which answers, is fit to keep them and
 * has room, and whose links are complete; or in the spool. On the spool alone it is ready, with a
 * warning: to be taken off the load balancer would lose what it is there for.
 */
export function createHealth({
  redis,
  directoryIsComplete,
  backpressure,
  refuge,
  clock,
}: {
  redis: RedisConnection;
  directoryIsComplete: () => boolean;
  backpressure: () => Backpressure | null;
  refuge: Refuge | null;
  clock: () => number;
}): Health {
  let stopping = false;
  let askedAt = -Infinity;
  let findings = Promise.resolve<Findings>({ fatal: [], warnings: [] });

  return {
    stop: () => void (stopping = true),
    async readiness() {
      if (clock() - askedAt >= KEPT_MS) {
        askedAt = clock();
        findings = inspect(redis);
      }
      const { fatal, warnings } = await findings;
      const troubles = [...fatal];
      if (!directoryIsComplete())
        troubles.push('The link directory is not complete: the worker has to refill it.');
      const pressure = backpressure();
      if (pressure !== null && fatal.length === 0) troubles.push(pressure.reason);
      const isOnSpool = troubles.length > 0 && refuge?.isUsable() === true;
      const reasons = isOnSpool ? [] : troubles;
      if (stopping) reasons.push('The receiver is stopping.');
      return {
        ready: reasons.length === 0,
        reasons,
        warnings: [
          ...(isOnSpool ? [...troubles, 'Leads are kept in the spool until this has passed.'] : []),
          ...(refuge?.warnings() ?? []),
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
