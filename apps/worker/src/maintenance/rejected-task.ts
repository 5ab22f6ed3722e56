import type { Logger, RedisConnection } from '@leadgate/boot';
import type { RejectedBody } from '@leadgate/contract';
import { takeRejected } from '@leadgate/intake';
import type { Failure } from '@leadgate/store';
import type { MaintenanceTask } from './maintenance.ts';

interface RejectedTaskOptions {
  save: (bodies: RejectedBody[]) => Promise<void>;
  /** Lets the oldest of a link go, so that a flood of refused bodies cannot fill Postgres. */
  trim: (linkId: string) => Promise<number>;
  failureOf: (error: unknown) => Failure;
  logger: Pick<Logger, 'warn'>;
}

/**
 * Moves refused bodies from Redis to Postgres, and bounds what a link keeps there. One that Postgres
 * cannot hold is let go, as it would keep all behind it from moving.
 */
export function createRejectedTask(
  redis: RedisConnection,
  { save, trim, failureOf, logger }: RejectedTaskOptions,
): MaintenanceTask {
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
      const links = new Set<string>();
      const bodies = await takeRejected(redis, async (some) => {
        await saveWhatFits(some);
        for (const { linkId } of some) links.add(linkId);
      });
      if (bodies === 0) return null;
      let trimmed = 0;
      for (const linkId of links) trimmed += await trim(linkId);
      return { bodies, trimmed };
    },
  };
}
