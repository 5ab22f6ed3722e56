import type { Redis } from 'ioredis';
import { durabilityFindings, inspectRedis } from '@leadgate/boot';

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

/**
 * Whether this receiver can take leads: Redis answers and is fit to keep them, and the link
 * directory is complete.
 */
export function createHealth({
  redis,
  directoryIsComplete,
  clock,
}: {
  redis: Redis;
  directoryIsComplete: () => boolean;
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
      const reasons = [...fatal];
      if (!directoryIsComplete())
        reasons.push('The link directory is not complete: the worker has to refill it.');
      if (stopping) reasons.push('The receiver is stopping.');
      return { ready: reasons.length === 0, reasons, warnings };
    },
  };
}

type Findings = ReturnType<typeof durabilityFindings>;

async function inspect(redis: Redis): Promise<Findings> {
  try {
    return durabilityFindings(await inspectRedis(redis));
  } catch {
    return { fatal: ['Redis does not answer.'], warnings: [] };
  }
}
