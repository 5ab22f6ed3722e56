import {
  BrokenCircuitError,
  circuitBreaker,
  CircuitState,
  ConsecutiveBreaker,
  handleAll,
} from 'cockatiel';

/** Redis was not asked: it has failed just before. */
export class RedisAvoided extends Error {
  override readonly name = 'RedisAvoided';
  constructor(cause: unknown) {
    super('Redis was not asked, as it has just failed', { cause });
  }
}

export interface Breaker {
  /**
   * Runs what asks Redis. After five failures in a row it rejects with RedisAvoided instead, at once,
   * and lets one through every half second to see whether Redis is back.
   */
  run<T>(ask: () => Promise<T>): Promise<T>;
}

const FAILURES = 5;
const TRY_AGAIN_AFTER_MS = 500;

export function createBreaker(): Breaker {
  let lastFailure: unknown;
  const circuit = circuitBreaker(handleAll, {
    breaker: new ConsecutiveBreaker(FAILURES),
    halfOpenAfter: TRY_AGAIN_AFTER_MS,
  });
  circuit.onFailure(({ reason }) => {
    lastFailure = 'error' in reason ? reason.error : undefined;
  });
  return {
    async run(ask) {
      // Asked first, as it would have the others wait for the one that tries.
      if (circuit.state === CircuitState.HalfOpen) throw new RedisAvoided(lastFailure);
      try {
        return await circuit.execute(ask);
      } catch (error) {
        throw error instanceof BrokenCircuitError ? new RedisAvoided(lastFailure) : error;
      }
    },
  };
}
