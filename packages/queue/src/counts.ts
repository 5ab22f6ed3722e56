import { redisScript, type RedisConnection } from '@leadgate/boot';
import {
  type JobPayload,
  LARGEST_GROUP,
  PACKED_LENGTH,
  packedTime,
  packUuid,
  type Submission,
  unpackUuid,
} from '@leadgate/contract';
import type { Queue } from 'bullmq';
import { PREFIX, queueName, readRegistry, withQueues } from './shards.ts';

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

/**
 * Stream beside the keys of a queue: which submissions were put in it, an entry a job, added in the
 * transaction of the job. Workers count them, look whether each came to an end, and let them go.
 */
export const ACCEPTED = 'accepted';

/** Entries, should no worker look: what then is let go was neither counted nor looked after. */
export const MOST_ACCEPTED = 500_000;

/**
 * A submission that was put in the queue. `post`, `import`: for the first time, as far as is known; a
 * withdrawal of a consent comes as a post does.
 * `repeat`: a sender had no answer and sent it again under its key.
 */
export interface Accepted {
  workspaceId: string;
  linkId: string;
  submissionId: string;
  kind: 'post' | 'import' | 'repeat';
}

const LETTERS = { post: 'p', import: 'i', repeat: 'r' } as const;
const KINDS: Record<string, Accepted['kind']> = { p: 'post', i: 'import', r: 'repeat' };

export function acceptedOf(
  { id, workspaceId, linkId, source }: Submission,
  { repeat }: { repeat: boolean },
): Accepted {
  const first = source === 'import' ? 'import' : 'post';
  return { workspaceId, linkId, submissionId: id, kind: repeat ? 'repeat' : first };
}

/**
 * As the stream holds them: for each workspace, link and kind, parted by commas, the two ids, the
 * kind's letter and the ids of the submissions, packed.
 */
export function acceptedEntry(accepted: readonly Accepted[]): string {
  const groups = new Map<string, { of: Accepted; text: string }>();
  let group: { of: Accepted; text: string } | undefined;
  for (const one of accepted) {
    const { workspaceId, linkId, submissionId, kind } = one;
    // Most are of the same link as the one before.
    if (
      group?.of.linkId !== linkId ||
      group.of.kind !== kind ||
      group.of.workspaceId !== workspaceId
    ) {
      const key = `${workspaceId} ${linkId} ${kind}`;
      const head = () => `${packUuid(workspaceId)}${packUuid(linkId)}${LETTERS[kind]}`;
      group = groups.get(key) ?? { of: one, text: head() };
      groups.set(key, group);
    }
    group.text += packUuid(submissionId);
  }
  return Array.from(groups.values(), ({ text }) => text).join(',');
}

/** An entry of the stream of a shard. */
interface AcceptedJob {
  /** Of the entry: its milliseconds since 1970 by Redis's clock, and a number. */
  entryId: string;
  accepted: Accepted[];
}

/** How many submissions of a link an entry has, by the minute that their ids name. */
export interface AcceptedCount extends Pick<Accepted, 'workspaceId' | 'linkId' | 'kind'> {
  /** Milliseconds since 1970, of the minute's begin. */
  minute: number;
  n: number;
}

/** The stream of a shard, under a name that stays: what is remembered of how far it was read. */
export interface AcceptedStream {
  name: string;
  /** The entries after one, oldest first, at most so many. */
  read(after: string, limit: number): Promise<AcceptedJob[]>;
  /** The entries up to one and with it, newest first, at most so many. */
  readBack(from: string, limit: number): Promise<AcceptedJob[]>;
  /** The same, counted: each id is not unpacked for it. */
  count(after: string, limit: number): Promise<{ entryId: string; counts: AcceptedCount[] }[]>;
  /** Lets go what came before an entry. */
  trim(before: string): Promise<void>;
}

/** Those of every shard that there is. Rejects when Redis does not answer. */
export async function acceptedStreams(redis: RedisConnection): Promise<AcceptedStream[]> {
  const { shards } = await readRegistry(redis);
  return shards.map(({ shard }) => {
    const key = `${PREFIX}:${queueName(shard)}:${ACCEPTED}`;
    const entries = (after: string, limit: number) =>
      redis.xrange(key, `(${after}`, '+', 'COUNT', limit);
    return {
      name: `accepted-${shard.toString()}`,
      async read(after, limit) {
        return (await entries(after, limit)).map(readEntry);
      },
      async readBack(from, limit) {
        return (await redis.xrevrange(key, from, '-', 'COUNT', limit)).map(readEntry);
      },
      async count(after, limit) {
        const found = await entries(after, limit);
        return found.map(([entryId, [, text = '']]) => ({
          entryId,
          counts: groupsOf(text).flatMap(countGroup),
        }));
      },
      async trim(before) {
        await redis.xtrim(key, 'MINID', before);
      },
    };
  });
}

const readEntry = ([entryId, [, text = '']]: [string, string[]]): AcceptedJob => ({
  entryId,
  accepted: groupsOf(text).flatMap(readGroup),
});

/** Those of a link and a kind: their ids, packed, one after the other. */
interface Group extends Pick<Accepted, 'workspaceId' | 'linkId' | 'kind'> {
  ids: string;
}

/** What cannot be read is left out: it was not written by any release. */
function groupsOf(text: string): Group[] {
  return text.split(',').flatMap((group) => {
    const kind = KINDS[group[2 * PACKED_LENGTH] ?? ''];
    if (kind === undefined) return [];
    const workspaceId = unpackUuid(group.slice(0, PACKED_LENGTH));
    const linkId = unpackUuid(group.slice(PACKED_LENGTH, 2 * PACKED_LENGTH));
    return [{ workspaceId, linkId, kind, ids: group.slice(2 * PACKED_LENGTH + 1) }];
  });
}

function readGroup({ workspaceId, linkId, kind, ids }: Group): Accepted[] {
  const accepted: Accepted[] = [];
  for (let at = 0; at + PACKED_LENGTH <= ids.length; at += PACKED_LENGTH) {
    const submissionId = unpackUuid(ids.slice(at, at + PACKED_LENGTH));
    accepted.push({ workspaceId, linkId, submissionId, kind });
  }
  return accepted;
}

function countGroup({ workspaceId, linkId, kind, ids }: Group): AcceptedCount[] {
  const counts: AcceptedCount[] = [];
  let last: AcceptedCount | undefined;
  for (let at = 0; at + PACKED_LENGTH <= ids.length; at += PACKED_LENGTH) {
    const ms = packedTime(ids, at);
    const minute = ms - (ms % 60_000);
    if (last?.minute === minute) last.n += 1;
    else counts.push((last = { workspaceId, linkId, kind, minute, n: 1 }));
  }
  return counts;
}
