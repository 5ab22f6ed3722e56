import type { RedisConnection, RedisScript } from '@leadgate/boot';
import { randomUUID } from 'node:crypto';
import { refillKey } from '../keys.ts';
import { script } from '../script.ts';

const RUN_SECONDS = 600;

/**
 * One run of a refill. Every step counts up a number beside what it fills, from what the step before
 * left there: where Redis was emptied or fell back to an older state in between, the number does not
 * match, and what was filled before that is gone. Then the run fails, and nothing is called complete.
 */
export interface RefillRun {
  /** Calls a script of `stepScript`. Throws when Redis lost earlier steps. */
  step(
    call: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown>;
}

const startScript = script(`redis.call('SET', KEYS[1], 0, 'EX', ${RUN_SECONDS})`);

/** `prefix`: of the keys that are filled, for their slot. */
export async function startRefillRun(redis: RedisConnection, prefix: string): Promise<RefillRun> {
  const runKey = refillKey(prefix, randomUUID());
  let steps = 0;
  await startScript(redis, [runKey], []);
  return {
    step: async (call, keys, args) => {
      const reply = await call(redis, [...keys, runKey], [...args, steps]);
      if (reply === 'lost') throw new Error('Redis lost what was refilled; refill it again');
      steps += 1;
      return reply;
    },
  };
}

/** A script that runs as a step: the run's key comes after its own keys, and is not theirs to use. */
export function stepScript(lua: string): RedisScript {
  return script(`
local run = table.remove(KEYS)
if redis.call('GET', run) ~= table.remove(ARGV) then return 'lost' end
redis.call('SET', run, tonumber(redis.call('GET', run)) + 1, 'EX', ${RUN_SECONDS})
${lua}`);
}
