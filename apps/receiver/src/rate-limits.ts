import rateLimit, { type FastifyRateLimitStoreCtor } from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { LimitUse, Limits } from '@leadgate/intake';

const WINDOW_MS = 60_000;

/** One limit that a request falls under: within a workspace, or in this process only. */
export interface CountedUse extends LimitUse {
  workspaceId: string | null;
}

/** Counts a request against a limit: the seconds to wait where it is exceeded, else null. */
export type CountUse = (request: FastifyRequest) => Promise<number | null>;

/**
 * Registers @fastify/rate-limit on the local estimate of the limits, which reservations keep close
 * to the exact counts in Redis. It answers a flood without asking Redis; what it lets through the
 * reservation counts exactly. Returns a maker of counters.
 */
export async function registerRateLimits(
  app: FastifyInstance,
  limits: Pick<Limits, 'count'>,
): Promise<(useOf: (request: FastifyRequest) => CountedUse) => CountUse> {
  await app.register(rateLimit, { global: false, store: storeOver(limits) });
  return (useOf) => {
    const count = app.createRateLimit({
      keyGenerator: (request) => storeKey(useOf(request)),
      max: (request) => useOf(request).max,
      timeWindow: WINDOW_MS,
    });
    return async (request) => {
      const result = await count(request);
      return !result.isAllowed && result.isExceeded ? result.ttlInSeconds : null;
    };
  };
}

const storeKey = ({ workspaceId, key }: CountedUse): string => `${workspaceId ?? ''}/${key}`;

function storeOver(limits: Pick<Limits, 'count'>): FastifyRateLimitStoreCtor {
  return class LimitsStore {
    incr(
      storeKey: string,
      done: (error: Error | null, result?: { current: number; ttl: number }) => void,
      _windowMs: number,
      max: number,
    ): void {
      const slash = storeKey.indexOf('/');
      const { current, ttlMs } = limits.count(
        storeKey.slice(0, slash) || null,
        storeKey.slice(slash + 1),
        max,
      );
      done(null, { current, ttl: ttlMs });
    }

    child(): this {
      return this;
    }
  };
}
