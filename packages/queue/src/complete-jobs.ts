import { redisScript, type RedisConnection } from '@leadgate/boot';
// BullMQ's own script: what it leaves behind stays what its workers, dashboards and next versions expect.
import { moveToFinished } from 'bullmq/dist/cjs/scripts/moveToFinished-14.js';
import { version } from 'bullmq/dist/cjs/version.js';

/** By this name BullMQ finds its script on a connection. */
const COMMAND = `moveToFinished:${version}`;

const KEYS_A_JOB = moveToFinished.keys;
/** Where among them the job's own key stands; the others are the same for all of a queue. */
const JOB_KEY = 11;
const ARGS_A_JOB = 9;
/** Of the arguments: whether it is completed or failed. */
const TARGET = KEYS_A_JOB + 4;

/** One call keeps others from Redis for as long as these take, a few milliseconds. */
const LARGEST_GROUP = 100;

/**
 * BullMQ's script for one job, called for each job of a group in one go, with what each would have
 * been answered. One that fails ends the call: those before it are done, and are found done when they
 * are tried again.
 *
 * KEYS: those of the first job, then the own key of each other. ARGV: those of each job.
 */
const SOURCE = `
local keys, given = KEYS, ARGV
local function finish(KEYS, ARGV)
${moveToFinished.content}
end
local replies = {}
for job = 0, #given / ${ARGS_A_JOB} - 1 do
  if job > 0 then keys[${JOB_KEY + 1}] = keys[${KEYS_A_JOB} + job] end
  local args = {}
  for i = 1, ${ARGS_A_JOB} do args[i] = given[job * ${ARGS_A_JOB} + i] end
  replies[job + 1] = finish(keys, args) or false
end
return replies
`;
const finishScript = redisScript(SOURCE);

type Args = readonly (string | number | Buffer | undefined)[];
type Command = (args: Args) => Promise<unknown>;

interface Finishing {
  args: Args;
  resolve: (reply: unknown) => void;
  reject: (reason: unknown) => void;
}

/**
 * Has the jobs that a worker completes in the same turn of the event loop, a group commit's, be told
 * to Redis in one call, which brings the next ones along. By itself BullMQ makes a call for each, and
 * most of what that costs is the call (docs/performance.md). To be called once the connection has
 * BullMQ's scripts; a second time changes nothing.
 */
export function groupCompletions(redis: RedisConnection): void {
  const single: unknown = Reflect.get(redis, COMMAND);
  if (typeof single !== 'function') throw new Error(`BullMQ has no ${COMMAND} on its connection`);
  if (grouped.has(single)) return;
  /** By queue. */
  const gathering = new Map<unknown, Finishing[]>();
  const sendAll = (): void => {
    for (const finishing of gathering.values())
      for (let i = 0; i < finishing.length; i += LARGEST_GROUP)
        void finishGroup(redis, finishing.slice(i, i + LARGEST_GROUP));
    gathering.clear();
  };
  const command: Command = (args) => {
    if (args[TARGET] !== 'completed') return Promise.resolve(Reflect.apply(single, redis, [args]));
    return new Promise((resolve, reject) => {
      if (gathering.size === 0) setImmediate(sendAll);
      const others = gathering.get(args[0]);
      if (others) others.push({ args, resolve, reject });
      else gathering.set(args[0], [{ args, resolve, reject }]);
    });
  };
  grouped.add(command);
  Reflect.set(redis, COMMAND, command);
}

const grouped = new WeakSet<object>();

async function finishGroup(redis: RedisConnection, group: readonly Finishing[]): Promise<void> {
  try {
    const replies = await finishScript(
      redis,
      group
        .flatMap(({ args }, i) => (i === 0 ? args.slice(0, KEYS_A_JOB) : [args[JOB_KEY]]))
        .map(String),
      group.flatMap(({ args }) =>
        Array.from({ length: ARGS_A_JOB }, (_, i) => args[KEYS_A_JOB + i] ?? ''),
      ),
    );
    if (!Array.isArray(replies)) throw new TypeError('the reply of a completion is not a list');
    group.forEach(({ resolve }, i) => resolve(replies[i]));
  } catch (error) {
    for (const { reject } of group) reject(error);
  }
}
