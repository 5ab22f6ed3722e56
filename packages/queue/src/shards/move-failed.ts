import { redisScript, type RedisConnection } from '@leadgate/boot';
import type { Queue } from 'bullmq';
import { readJobData } from '../dashboard-queue.ts';
import { walkByTime } from '../failed/walk-by-time.ts';
import { PREFIX, queueName } from '../queue-names.ts';
import { shardOf } from './shard-of.ts';

/** KEYS: job, list of failed ones. ARGV: its id, time, then its fields. Returns 1 unless it is there. */
const putScript = redisScript(`#!lua
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
return 1`);

/** KEYS: job, list of failed ones. ARGV: its id. Returns 1 where it was a failed one until now. */
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
export async function moveFailed(
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
  const submission = readJobData(parse(data));
  return submission === null ? 0 : shardOf(submission.leadId, shards);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
