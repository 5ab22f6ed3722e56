import type { RedisConnection } from '@leadgate/boot';
import { PACKED_LENGTH, packUuid, unpackUuid, type Submission } from '@leadgate/contract';
import { PREFIX, queueName } from './queues.ts';
import { readRegistry } from './shards.ts';

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
export interface AcceptedJob {
  /** Of the entry: its milliseconds since 1970 by Redis's clock, and a number. */
  entryId: string;
  accepted: Accepted[];
}

/** The stream of a shard, under a name that stays: what is remembered of how far it was read. */
export interface AcceptedStream {
  name: string;
  /** The entries after one, oldest first, at most so many. */
  read(after: string, limit: number): Promise<AcceptedJob[]>;
  /** Lets go what came before an entry. */
  trim(before: string): Promise<void>;
}

/** Those of every shard that there is. Rejects when Redis does not answer. */
export async function acceptedStreams(redis: RedisConnection): Promise<AcceptedStream[]> {
  const { shards } = await readRegistry(redis);
  return shards.map(({ shard }) => {
    const key = `${PREFIX}:${queueName(shard)}:${ACCEPTED}`;
    return {
      name: `accepted-${shard.toString()}`,
      async read(after, limit) {
        const entries = await redis.xrange(key, `(${after}`, '+', 'COUNT', limit);
        return entries.map(([entryId, [, text = '']]) => ({ entryId, accepted: readEntry(text) }));
      },
      async trim(before) {
        await redis.xtrim(key, 'MINID', before);
      },
    };
  });
}

/** What cannot be read is left out: it was not written by any release. */
function readEntry(text: string): Accepted[] {
  return text.split(',').flatMap((group) => {
    const kind = KINDS[group[2 * PACKED_LENGTH] ?? ''];
    if (kind === undefined) return [];
    const workspaceId = unpackUuid(group.slice(0, PACKED_LENGTH));
    const linkId = unpackUuid(group.slice(PACKED_LENGTH, 2 * PACKED_LENGTH));
    const accepted: Accepted[] = [];
    for (let at = 2 * PACKED_LENGTH + 1; at + PACKED_LENGTH <= group.length; at += PACKED_LENGTH) {
      const submissionId = unpackUuid(group.slice(at, at + PACKED_LENGTH));
      accepted.push({ workspaceId, linkId, submissionId, kind });
    }
    return accepted;
  });
}
