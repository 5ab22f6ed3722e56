import { redisScript, type RedisConnection } from '@leadgate/boot';
import type { Queue } from 'bullmq';
import { ACCEPTED, countsOf, LEADS, type QueueCounts } from './counts.ts';
import { readJobData } from './jobs.ts';
import { walkByTime } from './jobs.ts';
import { PREFIX, queueName, readRegistry, shardOf, unregisterShard, withQueue } from './shards.ts';

/** A shard that nobody writes to any more, on its way out. */
export interface LeftOver extends QueueCounts {
  shard: number;
  /** Failed jobs that were moved to the shard of their lead in this round. */
  moved: number;
  /** Whether it was empty, and is no more. */
  gone: boolean;
}

export type DrainRound =
  /** One that is not gone waits for workers, or for those who hold its jobs. */
  | { kind: 'left-overs'; leftOvers: LeftOver[] }
  /** No producer has spoken lately: which shards are left over cannot be told. */
  | { kind: 'nobody-writes' };

/**
 * One round of letting go of the shards that are left over from a larger QUEUE_SHARDS: moves their
 * failed jobs, as they are, to the shard that their lead has now, and takes those off that are empty.
 * To be called until none is left; to be cut off and begun again loses nothing. Rejects when Redis
 * fails, and when fewer than `waitReplicas` have what was moved.
 */
export async function drainLeftOvers(
  redis: RedisConnection,
  { waitReplicas = 0 }: { waitReplicas?: number } = {},
): Promise<DrainRound> {
  const { shards } = await readRegistry(redis);
  const last = shards.findLast(({ inUse }) => inUse);
  if (last === undefined) return { kind: 'nobody-writes' };
  const into = last.shard + 1;
  const leftOvers: LeftOver[] = [];
  for (const { shard, inUse } of shards) {
    // The first is there for good.
    if (inUse || shard === 0) continue;
    leftOvers.push(
      await withQueue(redis, shard, async (queue) => {
        const moved = await moveFailed(redis, queue, { into, replicas: waitReplicas });
        const gone = (await clear(redis, queue)) && (await unregisterShard(redis, shard));
        return { shard, moved, gone, ...(await countsOf(redis, queue)) };
      }),
    );
  }
  return { kind: 'left-overs', leftOvers };
}

/** KEYS: what holds jobs; then, from the number in ARGV, what is left of an empty queue. */
const clearScript = redisScript(`#!lua
local rest = tonumber(ARGV[1])
for i = 1, rest - 1 do
  if redis.call('EXISTS', KEYS[i]) == 1 then return 0 end
end
for i = rest, #KEYS do redis.call('DEL', KEYS[i]) end
return 1`);

const HOLD_JOBS = [
  ...['wait', 'paused', 'active', 'delayed', 'prioritized'],
  ...['waiting-children', 'completed', 'failed'],
];
/** What was accepted here was counted while its jobs were worked off, and nobody has written since. */
const REST = [
  ...['id', 'meta', 'events', 'marker', 'pc', 'stalled', 'stalled-check', 'limiter'],
  LEADS,
  ACCEPTED,
];

/** Whether it was empty. A paused one is also not cleared before it is resumed. */
async function clear(redis: RedisConnection, queue: Queue): Promise<boolean> {
  const keys = [...HOLD_JOBS, ...REST].map((name) => queue.toKey(name));
  return (await clearScript(redis, keys, [HOLD_JOBS.length + 1])) === 1;
}

/** KEYS: job, list of failed ones. ARGV: its id, time, then its fields. Returns 1 unless it is there. */
const putScript = redisScript(`#!lua
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
return 1`);

/** KEYS: job, list of failed ones. ARGV: its id. Returns 1 if it was a failed one until now. */
const takeScript = redisScript(`#!lua
if redis.call('ZREM', KEYS[2], ARGV[1]) == 0 then return 0 end
redis.call('DEL', KEYS[1], KEYS[1] .. ':logs')
return 1`);

const PAGE = 100;

/**
 * Moves the failed jobs of a shard to the one that their lead has among `into`, with their reason,
 * attempts and time. BullMQ does not do that between queues, which are in different slots of a Cluster:
 * a job is put there first, and taken from here then, so that it is in one of them at any time. Killed
 * in between, it is in both, and the next run takes it from here. A job of the same id that stands
 * there already carries the same submission, and stays.
 *
 * Returns how many were moved.
 */
async function moveFailed(
  redis: RedisConnection,
  queue: Queue,
  { into, replicas }: { into: number; replicas: number },
): Promise<number> {
  const failedKey = queue.toKey('failed');
  let moved = 0;
  for await (const page of walkByTime(redis, failedKey, { order: 'oldest-first', pageSize: PAGE }))
    for (const { member: id, time } of page) {
      const here = [queue.toKey(id), failedKey];
      const fields = await redis.hgetall(queue.toKey(id));
      if (Object.keys(fields).length === 0) continue;
      const there = keysIn(shardOfJob(fields.data ?? '', into), id);
      const args = [id, time, ...Object.entries(fields).flat()];
      const isNew = (await putScript(redis, there, args, { replicas })) === 1;
      if ((await takeScript(redis, here, [id])) === 1) moved += 1;
      // Retried here in the meantime: it is no failed one any more.
      else if (isNew) await takeScript(redis, there, [id]);
    }
  return moved;
}

function keysIn(shard: number, jobId: string): string[] {
  const prefix = `${PREFIX}:${queueName(shard)}:`;
  return [`${prefix}${jobId}`, `${prefix}failed`];
}

/** What this version cannot read goes to the first one, which is there for good. */
function shardOfJob(data: string, shards: number): number {
  const submission = readJobData(parse(data))?.submissions[0];
  return submission === undefined ? 0 : shardOf(submission.leadId, shards);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
