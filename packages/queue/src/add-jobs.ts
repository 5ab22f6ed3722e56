import { redisScript, type RedisConnection } from '@leadgate/boot';
import type { Queue } from 'bullmq';
// BullMQ's own script: what it stores stays what its workers, dashboards and next versions expect.
import { addPrioritizedJob } from 'bullmq/dist/cjs/scripts/addPrioritizedJob-9.js';
import { addStandardJob } from 'bullmq/dist/cjs/scripts/addStandardJob-9.js';
import type { PackedJob } from './packed-job.ts';
import type { JobName } from './queue-names.ts';

/** A job without delay. */
export interface NewJob {
  id: string;
  name: JobName;
  data: PackedJob;
}

/**
 * BullMQ's script for one job, called for each job of a group in one go. It takes its arguments
 * packed, one job a call; here they are Lua tables, so its unpacking hands them on as they are.
 *
 * The shebang makes Redis refuse the script before its first command where memory is full or the
 * disk cannot be written: a group is put in whole, or not at all.
 *
 * ARGV: prefix of the queue's keys, time in milliseconds, attempts, first delay between them, priority
 * (0: none), then for each job its id, name and data.
 */
const sourceOf = (script: { content: string }) => `#!lua
local keys = KEYS
local given = ARGV
local cmsgpack = { unpack = function (value) return value end }
local function add(KEYS, ARGV)
${script.content}
end
local prefix, time = given[1], tonumber(given[2])
local opts = { attempts = tonumber(given[3]), backoff = { type = 'exponential', delay = tonumber(given[4]) } }
local priority = tonumber(given[5])
if priority > 0 then opts.priority = priority end
for i = 6, #given, 3 do
  add(keys, { { prefix, given[i], given[i + 1], time }, given[i + 2], opts })
end
return #given
`;

const addScript = redisScript(sourceOf(addStandardJob));
const addLaterScript = redisScript(sourceOf(addPrioritizedJob));

/**
 * Puts jobs in the queue in one call of one script; one whose id is there already stays as it is.
 * `queue.addBulk` does the same with a call, an object and a packing of arguments for each job, which
 * is a third of what a receiver spends on a lead (docs/performance.md); and Redis, which syncs its disk
 * once each time it has read from its connections, syncs it once for a group and not once for a few
 * jobs. With a `priority` their turn comes after those without one, the higher the later. With
 * `replicas` it rejects when fewer have them.
 */
export async function addJobs(
  redis: RedisConnection,
  { keys, toKey }: Pick<Queue, 'keys' | 'toKey'>,
  jobs: readonly NewJob[],
  {
    attempts,
    delayMs,
    replicas,
    priority = 0,
  }: { attempts: number; delayMs: number; replicas: number; priority?: number },
): Promise<void> {
  const args: (string | number)[] = [toKey(''), Date.now(), attempts, delayMs, priority];
  for (const { id, name, data } of jobs) args.push(id, name, JSON.stringify(data));
  if (priority === 0) {
    const { wait, paused, meta, id, completed, delayed, active, events, marker } = keys;
    const used = [wait, paused, meta, id, completed, delayed, active, events, marker];
    await addScript(redis, used.map(String), args, { replicas });
  } else {
    const { marker, meta, id, prioritized, delayed, completed, active, events, pc } = keys;
    const used = [marker, meta, id, prioritized, delayed, completed, active, events, pc];
    await addLaterScript(redis, used.map(String), args, { replicas });
  }
}
