import { redisScript, type RedisConnection } from '@leadgate/boot';
import { type JobPayload, LARGEST_GROUP } from '@leadgate/contract';
import type { Queue } from 'bullmq';
import { withQueues } from './shards.ts';

/**
 * Hash beside the keys of a queue: how many leads its jobs carry that have neither been completed nor
 * failed, those in the background by themselves. Moved with each job; see `countsOf` for how far it
 * is believed.
 */
export const LEADS = 'leads';
type LeadsField = 'now' | 'background';

export const leadsField = (priority: number | undefined): LeadsField =>
  (priority ?? 0) > 0 ? 'background' : 'now';

/** Jobs are named by what they are about, so that their leads are counted without reading them. */
export const jobName = ({ n, r }: Pick<JobPayload, 'n' | 'r'>): string =>
  `${r === 1 ? 'replay' : 'apply'} ${n}`;

/** How many leads a job of this name carries. */
export const leadsIn = (name: string): number => Number(/ (\d+)$/.exec(name)?.[1] ?? 1);

/** Leads, not jobs, of which each carries one or many. */
export interface QueueCounts {
  /** Those in the background, of imports and replays, counted in. */
  waiting: number;
  /** Of those waiting, the ones in the background. */
  background: number;
  active: number;
  /** Waiting for their next attempt. */
  delayed: number;
  /** Out of attempts; kept until somebody retries or removes them. */
  failed: number;
  /** Whether an operator has paused the queue: no worker takes jobs. */
  paused: boolean;
}

/** How a shard stands. */
export interface ShardStanding extends QueueCounts {
  shard: number;
  /** Whether producers write to it; others are left over from a larger QUEUE_SHARDS. */
  inUse: boolean;
  /** Null if none waits. */
  oldestWaitingMs: number | null;
}

/** How many leads stand where, in all shards. Rejects when Redis does not answer. */
export async function queueCounts(redis: RedisConnection): Promise<QueueCounts> {
  return sumOf(await withQueues(redis, (queue) => countsOf(redis, queue)));
}

/** How each shard stands, by number. Rejects when Redis does not answer. */
export function shardStandings(redis: RedisConnection): Promise<ShardStanding[]> {
  return withQueues(redis, async (queue, { shard, inUse }) => {
    const [counts, oldestWaitingMs] = await Promise.all([countsOf(redis, queue), oldestOf(queue)]);
    return { shard, inUse, ...counts, oldestWaitingMs };
  });
}

/** How the queue stands as a whole. */
export function sumOfShards(
  shards: readonly ShardStanding[],
): QueueCounts & Pick<ShardStanding, 'oldestWaitingMs'> {
  const oldestWaitingMs = oldestAmong(shards.map((shard) => shard.oldestWaitingMs));
  return { ...sumOf(shards), oldestWaitingMs };
}

/**
 * Milliseconds that the oldest waiting lead has waited; null if none waits. Rejects when Redis
 * does not answer.
 */
export async function oldestWaiting(redis: RedisConnection): Promise<number | null> {
  return oldestAmong(await withQueues(redis, oldestOf));
}

function oldestAmong(ages: readonly (number | null)[]): number | null {
  const known = ages.filter((age) => age !== null);
  return known.length === 0 ? null : Math.max(...known);
}

async function oldestOf(queue: Queue): Promise<number | null> {
  const [job] = await queue.getJobs('wait', 0, 0, true);
  return job === undefined ? null : Math.max(0, Date.now() - job.timestamp);
}

/** Paused as a whole if a part of it is. */
function sumOf(counts: readonly QueueCounts[]): QueueCounts {
  const sum = (count: (one: QueueCounts) => number): number =>
    counts.reduce((total, one) => total + count(one), 0);
  return {
    waiting: sum(({ waiting }) => waiting),
    background: sum(({ background }) => background),
    active: sum(({ active }) => active),
    delayed: sum(({ delayed }) => delayed),
    failed: sum(({ failed }) => failed),
    paused: counts.some(({ paused }) => paused),
  };
}

/** Up to so many jobs of a state have their leads counted one by one. */
const COUNTED_ONE_BY_ONE = 100;

/**
 * KEYS: wait, prioritized, active, delayed, failed, leads. ARGV: prefix of the queue's keys, how many
 * jobs of a state are counted one by one. Returns jobs and leads, by state, then the counter. Leads of
 * more jobs than that are -1, of active ones what the first ones carry on average.
 */
const countScript = redisScript(`#!lua flags=no-writes
local few = tonumber(ARGV[2])
local function leadsOf(ids)
  local sum = 0
  for _, id in ipairs(ids) do
    local name = redis.call('HGET', ARGV[1] .. id, 'name')
    sum = sum + (tonumber(name and string.match(name, '%d+$')) or 1)
  end
  return sum
end
local wait, later = redis.call('LLEN', KEYS[1]), redis.call('ZCARD', KEYS[2])
local active = redis.call('LLEN', KEYS[3])
local delayed, failed = redis.call('ZCARD', KEYS[4]), redis.call('ZCARD', KEYS[5])
local first = redis.call('LRANGE', KEYS[3], 0, few - 1)
local held = leadsOf(first)
if active > #first then held = math.floor(held * active / #first) end
return { wait, wait <= few and leadsOf(redis.call('LRANGE', KEYS[1], 0, -1)) or -1,
  later, later <= few and leadsOf(redis.call('ZRANGE', KEYS[2], 0, -1)) or -1,
  held, delayed, failed,
  tonumber(redis.call('HGET', KEYS[6], 'now')) or 0,
  tonumber(redis.call('HGET', KEYS[6], 'background')) or 0 }`);

const STATES = ['wait', 'prioritized', 'active', 'delayed', 'failed', LEADS];

/**
 * How many leads of a shard stand where. Exact for up to a hundred jobs that wait. For more, those
 * that wait are what the counter says less those that are being applied: it is too high by the leads
 * of jobs whose worker was killed between completing and counting, until the queue is next empty.
 * Never fewer than the jobs that wait, and never more than they can carry.
 */
export async function countsOf(redis: RedisConnection, queue: Queue): Promise<QueueCounts> {
  const [reply, paused] = await Promise.all([
    countScript(
      redis,
      STATES.map((state) => queue.toKey(state)),
      [queue.toKey(''), COUNTED_ONE_BY_ONE],
    ),
    queue.isPaused(),
  ]);
  const numbers = Array.isArray(reply) ? reply.map(Number) : [];
  const [wait = 0, waitLeads = 0, later = 0, laterLeads = 0, active = 0] = numbers;
  const [delayed = 0, failed = 0, now = 0, inBackground = 0] = numbers.slice(5);
  const background = believed(inBackground, { jobs: later, counted: laterLeads });
  const first = believed(now - active - delayed, { jobs: wait, counted: waitLeads });
  return { waiting: first + background, background, active, delayed, failed, paused };
}

function believed(counter: number, { jobs, counted }: { jobs: number; counted: number }): number {
  if (counted >= 0) return counted;
  return Math.min(Math.max(counter, jobs), jobs * LARGEST_GROUP.submissions);
}

/** KEYS: what holds jobs that are not done, then the counter. */
const settleScript = redisScript(`#!lua
for i = 1, #KEYS - 1 do
  if redis.call('EXISTS', KEYS[i]) == 1 then return 0 end
end
return redis.call('DEL', KEYS[#KEYS])`);

/** Sets the counter of leads right when the queue is empty. */
export async function settleCounter(redis: RedisConnection, queue: Queue): Promise<void> {
  const keys = ['wait', 'prioritized', 'active', 'delayed', LEADS];
  await settleScript(
    redis,
    keys.map((key) => queue.toKey(key)),
    [],
  );
}

const GAUGE_STATES = ['waiting', 'active', 'delayed', 'failed', 'paused'] as const;

/**
 * What monitoring reads of the queue, in the terms of a metrics registry. `paused` is 1 while an
 * operator has paused it.
 */
export function queueGauges(redis: RedisConnection) {
  return {
    leads: {
      name: 'leadgate_queue_leads',
      help: 'Leads in the queue by state; paused is 1 while the queue is.',
      label: 'state',
      values: GAUGE_STATES,
      read: async (): Promise<Record<(typeof GAUGE_STATES)[number], number>> => {
        const { paused, ...counts } = await queueCounts(redis);
        return { ...counts, paused: paused ? 1 : 0 };
      },
    },
    oldest: {
      name: 'leadgate_queue_oldest_waiting_seconds',
      help: 'How long the oldest waiting submission has waited; 0 where none waits.',
      read: async (): Promise<number> => ((await oldestWaiting(redis)) ?? 0) / 1_000,
    },
  };
}

/** Jobs of a worker's hands that are looked at. */
const MOST_ACTIVE = 1_000;

/**
 * When the oldest job was put in that waits, or that a worker has: what was put in before it came to an
 * end, or has a job of its own. Milliseconds since 1970, by the clocks of those who put in; null: there is
 * none. Rejects when Redis does not answer.
 */
export async function oldestUnfinished(redis: RedisConnection): Promise<number | null> {
  const times = (await withQueues(redis, timesOf)).flat();
  return times.length === 0 ? null : Math.min(...times);
}

async function timesOf(queue: Queue): Promise<number[]> {
  const found = await Promise.all([
    queue.getJobs(['wait'], 0, 0, true),
    queue.getJobs(['prioritized'], 0, 0, true),
    queue.getJobs(['active'], 0, MOST_ACTIVE, true),
  ]);
  // One that ends meanwhile is not there any more.
  return found.flat().flatMap((job) => (job as typeof job | undefined)?.timestamp ?? []);
}
