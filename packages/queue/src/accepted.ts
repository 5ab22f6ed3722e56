import type { RedisConnection } from '@leadgate/boot';
import {
  PACKED_LENGTH,
  packedTime,
  packUuid,
  unpackUuid,
  type Submission,
} from '@leadgate/contract';
import { PREFIX, queueName, readRegistry } from './shards.ts';

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
