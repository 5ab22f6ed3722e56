import { isDeepStrictEqual } from 'node:util';
import {
  type CaptureLink,
  isExternalKey,
  type NoteCode,
  type Submission,
} from '@leadgate/contract';
import { parseBody, readSent, refusingNothing, soleItem, takeSigns } from '@leadgate/leads';
import {
  freshLeadId,
  linkEntries,
  lonely,
  readAgain,
  type Store,
  type StoredFilter,
  type StoredSubmission,
  storedSubmissions,
} from '@leadgate/store';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import type { ReadBody } from '../accept.ts';
import { STOPPED_BY_REFILL, type Connections } from '../operation.ts';
import { createPace } from '../pace.ts';
import type { Work } from '../runs.ts';
import { Time, Uuid } from '../schema.ts';

/** In one transaction, and in one call of Redis. */
const AT_ONCE = 100;

/** Which posts of a link are read again, and how fast. */
export const ReadAgainParameters = Type.Object({
  linkId: Uuid,
  since: Type.Optional(Time),
  until: Type.Optional(Time),
  perSecond: Type.Optional(Type.Integer({ minimum: 1 })),
});

/** What became of posts that were looked at. */
interface ReadAgainCounts extends Record<string, number> {
  read: number;
  /** Those that say something else now. */
  changed: number;
  /** Those of which nothing is recognised now either. */
  unrecognised: number;
  /** Those that say now that they are tests of their sender: they stay as they are. */
  tests: number;
  /** Those of a lead of too many submissions: they stay as they are. */
  left: number;
  /** Leads that only such posts had made, and that are aliases now. */
  ended: number;
}

const NONE = { read: 0, changed: 0, unrecognised: 0, tests: 0, left: 0, ended: 0 };

/**
 * Has the posts of a link say what its present mapping reads in their bodies, in the order they were accepted in.
 * What they say keeps its stamp; whom they name now is found or created by the reservation, as for a post of
 * today. It is applied here and not in the queue, as a merge is: an alias is no submission.
 * Twice, or stopped and gone on with, gives the same.
 */
export const readAgainWork: Work = async ({ run, signal, tell }, connections) => {
  const { perSecond, linkId, ...times } = Value.Parse(ReadAgainParameters, run.parameters);
  const { store } = connections;
  const [entry] = await linkEntries(store, linkId);
  if (entry === undefined) return { problem: 'The link is gone.' };
  const pace = createPace(perSecond, signal);
  const atOnce = perSecond === undefined ? AT_ONCE : Math.min(AT_ONCE, Math.ceil(perSecond / 10));
  const filter = {
    ...filterOfPosts({ linkId, ...times }, run.begunAt),
    ...(run.cursor !== null && { afterOrder: Number(run.cursor) }),
  };
  const counts: ReadAgainCounts = { ...NONE, ...run.progress };
  for await (const page of storedSubmissions(store, run.workspaceId, filter))
    for (let i = 0; i < page.length; i += atOnce) {
      const some = page.slice(i, i + atOnce);
      for (let n = 0; n < some.length; n += 1) await pace();
      if (signal.aborted) return {};
      const outcome = await readSome(connections, entry.link, some, counts);
      if (outcome === 'behind') return { problem: STOPPED_BY_REFILL };
      tell(counts, String(some.at(-1)?.submission.order));
    }
  return {};
};

/** What came in since is read by the mapping of today already. */
export function filterOfPosts(
  { linkId, since, until }: Omit<Static<typeof ReadAgainParameters>, 'perSecond'>,
  now: Date,
): StoredFilter {
  return {
    linkId,
    source: 'post',
    until: until === undefined ? now : new Date(until),
    ...(since !== undefined && { since: new Date(since) }),
  };
}

async function readSome(
  { store, intake, redis }: Connections,
  link: CaptureLink,
  some: readonly StoredSubmission[],
  counts: ReadAgainCounts,
): Promise<'done' | 'behind'> {
  counts.read += some.length;
  const changed = some.flatMap((stored) => {
    const again = readStored(stored.submission, link);
    if (again.kind === 'unrecognised' || again.kind === 'test')
      counts[again.kind === 'test' ? 'tests' : 'unrecognised'] += 1;
    return again.kind === 'other' ? [{ ...stored, reading: again.reading }] : [];
  });
  if (changed.length === 0) return 'done';
  const { workspaceId } = link;
  const alone = await lonely(
    store,
    workspaceId,
    changed.map(({ submission }) => submission),
  );
  const { reserver } = await intake();
  const { moveIdentities, reserveAgain } = await import('@leadgate/intake');
  // Together and in their order: each sees what those before it claimed.
  const reserved = await Promise.all(
    changed.map(async ({ submission, leadId, reading }): Promise<Submission | null> => {
      const external = reading.identities.filter(isExternalKey);
      const reserved = await reserveAgain(reserver, submission, {
        // A lead that it shares with others may be another person's.
        offeredLeadId: alone.has(submission.id) ? leadId : freshLeadId(submission.id),
        identityKeys: reading.identities.filter((key) => !isExternalKey(key)),
      });
      if (reserved === null) return null;
      const { leadId: owner, identities } = reserved;
      return {
        ...submission,
        leadId: owner,
        identities: [...external.map((key) => ({ key, owner })), ...identities],
        lead: reading.lead,
        notes: notesOf(submission, reading),
        ...(reading.consent !== undefined && { consent: reading.consent }),
      };
    }),
  );
  const submissions = reserved.filter((one) => one !== null);
  if (submissions.length < reserved.length) return 'behind';
  const followed = async (moved: Parameters<typeof moveIdentities>[2]): Promise<void> => {
    if (moved.length > 0) await moveIdentities(await redis(), workspaceId, moved);
  };
  // Before the commit: a repeat that came after it and found no owner would be answered an id of nothing.
  const current = new Map(changed.map(({ submission, leadId }) => [submission.id, leadId]));
  await followed(
    submissions.flatMap(({ id, leadId: to, identities }) =>
      identities.flatMap(({ key }) =>
        isExternalKey(key) ? [{ key, from: current.get(id) ?? to, to }] : [],
      ),
    ),
  );
  const outcome = await readAgain(store, workspaceId, submissions);
  counts.changed += outcome.changed;
  counts.left += outcome.left;
  counts.ended += outcome.ended;
  await followed(outcome.moved);
  return 'done';
}

type Again =
  /** It says what it said. */
  | { kind: 'same' }
  | { kind: 'other'; reading: ReadBody }
  /** Nothing is recognised, and it says what it said. */
  | { kind: 'unrecognised' }
  /** It is a test of its sender. */
  | { kind: 'test' };

/** Reads a stored post as its link would today. What cannot be read is set aside: it had its 202. */
function readStored(submission: Submission, link: CaptureLink): Again {
  const { body, bodyType } = submission;
  const parsed = parseBody(body, bodyType);
  if (parsed.kind !== 'parsed') return { kind: 'same' };
  const own = soleItem(parsed.value, link);
  const sent = takeSigns(own, link.guard?.honeypot ?? null).body;
  const isForm = bodyType === 'form';
  const now = submission.stamp / 1_000;
  const reading = readSent(sent, refusingNothing(link), { now, isForm });
  if (reading.kind === 'refused') return { kind: 'same' };
  if (reading.held === 'test') return { kind: 'test' };
  const before = submission.identities.map(({ key }) => key);
  const isSame =
    isDeepStrictEqual(reading.lead, submission.lead) &&
    isDeepStrictEqual([...reading.identities].sort(), before.sort());
  if (!isSame) return { kind: 'other', reading };
  const isNothing = reading.notes.some(({ code }) => code === 'nothing-recognised');
  return { kind: isNothing ? 'unrecognised' : 'same' };
}

/** Of how a post came, which its body does not tell. */
const OF_ARRIVAL: ReadonlySet<NoteCode> = new Set([
  'not-utf-8',
  'file-dropped',
  'unknown-keys-dropped',
  'captcha-unchecked',
  'key-of-another-body',
]);

const notesOf = ({ notes }: Submission, reading: ReadBody): Submission['notes'] => [
  ...notes.filter(({ code }) => OF_ARRIVAL.has(code)),
  ...reading.notes,
];

/** Posts that are told of; all of them are counted. */
export const MOST_CHANGES = 100;

/** What a post would say. Names of fields, no values. */
export interface PostChange {
  submissionId: string;
  /** The lead that it is of today. */
  leadId: string;
  filled: string[];
  changed: string[];
  emptied: string[];
  /** Whether it would name a person by an email or telephone. */
  names: boolean;
}

/** What reading posts again would do, without doing it. */
export async function previewReadAgain(
  store: Store,
  link: CaptureLink,
  filter: StoredFilter,
  signal: AbortSignal,
): Promise<{
  counts: Pick<ReadAgainCounts, 'read' | 'changed' | 'unrecognised' | 'tests'>;
  changes: PostChange[];
}> {
  const counts = { read: 0, changed: 0, unrecognised: 0, tests: 0 };
  const changes: PostChange[] = [];
  for await (const page of storedSubmissions(store, link.workspaceId, filter)) {
    if (signal.aborted) break;
    counts.read += page.length;
    for (const { submission, leadId } of page) {
      const again = readStored(submission, link);
      if (again.kind === 'unrecognised') counts.unrecognised += 1;
      if (again.kind === 'test') counts.tests += 1;
      if (again.kind !== 'other') continue;
      counts.changed += 1;
      if (changes.length < MOST_CHANGES) changes.push(changeOf(submission, leadId, again.reading));
    }
  }
  return { counts, changes };
}

function changeOf(submission: Submission, leadId: string, reading: ReadBody): PostChange {
  const [before, after] = [fieldsOf(submission.lead), fieldsOf(reading.lead)];
  const named = [...new Set([...before.keys(), ...after.keys()])];
  const differs = (name: string) => !isDeepStrictEqual(before.get(name), after.get(name));
  return {
    submissionId: submission.id,
    leadId,
    filled: named.filter((name) => !before.has(name)),
    changed: named.filter((name) => before.has(name) && after.has(name) && differs(name)),
    emptied: named.filter((name) => !after.has(name)),
    names: reading.identities.some((key) => !isExternalKey(key)),
  };
}

/** What a lead says, by the names that a mapping has for its fields. */
function fieldsOf({ otherKeys: _, ...lead }: Submission['lead']): Map<string, unknown> {
  return new Map(
    Object.entries(lead).flatMap(([name, value]): [string, unknown][] =>
      typeof value === 'object'
        ? Object.entries(value).map(([key, inner]) => [`${name}.${key}`, inner])
        : [[name, value]],
    ),
  );
}
