import type { RedisConnection, RedisScript } from '@leadgate/boot';
import { randomUUID } from 'node:crypto';
import { refillKey } from '../keys.ts';
import { HERE, SERVER } from '../reservation/open-workspace.ts';
import { script } from '../script.ts';

const RUN_SECONDS = 600;

/**
 * One run of a refill. Every step counts up a number beside what it fills, from what the step before
 * left there: if Redis was emptied, fell back to an older state or became another one in between,
 * the number does not match, and what was filled or claimed before that may be gone. Then the run
 * fails, and nothing is called complete.
 */
export interface RefillRun {
  /** Calls a script of `stepScript`. Throws when Redis lost earlier steps. */
  step(
    call: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown>;
}

const startScript = script(`${SERVER}
redis.call('SET', KEYS[1], server() .. ' 0', 'EX', ${RUN_SECONDS})`);

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
  return script(`${HERE}
local run, step, id = table.remove(KEYS), table.remove(ARGV), server()
if redis.call('GET', run) ~= id .. ' ' .. step then return 'lost' end
redis.call('SET', run, id .. ' ' .. string.format('%.0f', step + 1), 'EX', ${RUN_SECONDS})
${lua}`);
}
