import type { Logger } from '@leadgate/boot';
import { takeRejected, type RejectedBody } from '@leadgate/intake';
import type { Failure } from '@leadgate/store';
import type { Redis } from 'ioredis';
import type { Chore } from './caretaker.ts';

/**
 * Moves refused bodies from Redis to Postgres. One that Postgres cannot hold is let go, as it would
 * keep all behind it from moving.
 */
export function createRejectedChore(
  redis: Redis,
  save: (bodies: RejectedBody[]) => Promise<void>,
  failureOf: (error: unknown) => Failure,
  logger: Pick<Logger, 'warn'>,
): Chore {
  async function saveWhatFits(bodies: RejectedBody[]): Promise<void> {
    try {
      await save(bodies);
    } catch (err) {
      if (failureOf(err) !== 'data') throw err;
      const [only, ...others] = bodies;
      if (only === undefined) return;
      if (others.length > 0) for (const body of bodies) await saveWhatFits([body]);
      else logger.warn({ rejectedId: only.id, err }, 'a refused body cannot be kept');
    }
  }
  return {
    name: 'keep refused bodies',
    async run() {
      const bodies = await takeRejected(redis, saveWhatFits);
      return bodies === 0 ? null : { bodies };
    },
  };
}
