import type { RedisConnection } from '@leadgate/boot';
import { acceptedStreams, type Accepted, type AcceptedStream } from '@leadgate/queue';
import {
  findWorkspace,
  ledgerCursor,
  linkSums,
  listOpen,
  missingRows,
  unsettled,
  type MissingRows,
  type OpenEntry,
  type Store,
} from '@leadgate/store';
import { Type } from 'typebox';
import { operation, UNKNOWN_WORKSPACE } from './operation.ts';
import { At, Time, Uuid } from './schema.ts';

const DAY_MS = 86_400_000;

/** Submissions of the streams that are looked at; of more, those that wait are counted without a look. */
const MOST_LOOKED_AT = 20_000;
const ENTRIES_AT_ONCE = 100;
const MOST_NAMED = 20;

const n = (description?: string) => Type.Integer(description === undefined ? {} : { description });

const LinkBooks = Type.Object({
  linkId: Uuid,
  label: Type.String(),
  accepted: n('Put in the queue.'),
  stored: n(),
  held: n('Caught as spam, for an operator.'),
  failed: n('Out of attempts, or being tried again.'),
  erased: n('Dropped, as its person was erased.'),
  waiting: n('In the queue, or in the hands of a worker.'),
  delivered: n('Newer versions of leads that endpoints took: one for each of them.'),
  spooled: n('Of them came by a spool.'),
  resent: n('Sent again under an idempotency key.'),
  repeated: n('Jobs of what was stored already.'),
  refused: n(),
  difference: n('Accepted, and neither there nor on its way.'),
  submissions: Type.Array(Uuid, { description: `Which ones, as far as is known: ${MOST_NAMED}.` }),
});

/** The books: whether all that was accepted by each link came to an end. */
export const ledger = {
  show: operation({
    name: 'ledger.show',
    id: 'showLedger',
    method: 'GET',
    path: '/ledger',
    summary: 'Whether all that was accepted is stored, held, failed, erased or waiting, by link',
    description:
      'Counts since the hour of a moment. The difference is of what is known to be missing now: submissions that were accepted and came to no end once their turn in the queue had passed, and rows of the last hour that were stored and are not there.',
    scope: 'workspaceId',
    input: Type.Object({
      workspaceId: Uuid,
      linkId: Type.Optional(Uuid),
      since: Type.Optional(Time),
    }),
    output: Type.Object({
      since: At,
      difference: n(),
      links: Type.Array(LinkBooks),
    }),
    run: async ({ workspaceId, linkId, since }, { store, redis }) => {
      if ((await findWorkspace(store, workspaceId)) === null) return UNKNOWN_WORKSPACE;
      const from = since === undefined ? new Date(Date.now() - DAY_MS) : new Date(since);
      const filter = { workspaceId, ...(linkId !== undefined && { linkId }) };
      // Before those that are open: what is passed by then and came to no end is one of them.
      const streams = await streamsAsVerified(await redis(), store);
      const [sums, open, missing] = await Promise.all([
        linkSums(store, { ...filter, since: from }),
        listOpen(store, filter),
        missingRows(store, new Date()),
      ]);
      const found = await lookInStreams(streams, store, filter, open);
      const links = sums.map((link) => ({
        ...link,
        ...standing(link.linkId, open, missing, found.get(link.linkId)),
      }));
      const difference = links.reduce((sum, link) => sum + link.difference, 0);
      return { since: from, difference, links };
    },
  }),
};

/** A stream of accepted submissions, and the entry up to which their turn has passed. */
interface VerifiedStream {
  stream: AcceptedStream;
  verified: string;
}

async function streamsAsVerified(redis: RedisConnection, store: Store): Promise<VerifiedStream[]> {
  const streams: VerifiedStream[] = [];
  for (const stream of await acceptedStreams(redis)) {
    const { verified } = await ledgerCursor(store, stream.name);
    streams.push({ stream, verified });
  }
  return streams;
}

/** What the streams have still of a link. */
interface InStreams {
  /** Ids of those whose turn may not have passed, and that came to no end yet. */
  waiting: Set<string>;
  /** How many were put in behind those that were looked at. */
  further: number;
  /** Ids of those whose turn has passed and that are not there any more: they had come to an end. */
  gone: Set<string>;
}

/** By link. Page by page: as much is held of a million as of a thousand. */
async function lookInStreams(
  streams: readonly VerifiedStream[],
  store: Store,
  { workspaceId, linkId }: { workspaceId: string; linkId?: string },
  open: readonly OpenEntry[],
): Promise<Map<string, InStreams>> {
  const known = new Set(open.map(({ id }) => id));
  const links = new Map<string, InStreams>();
  const linkOf = (id: string): InStreams => {
    const link = links.get(id) ?? { waiting: new Set(), further: 0, gone: new Set() };
    links.set(id, link);
    return link;
  };
  const isAsked = (one: Pick<Accepted, 'workspaceId' | 'linkId' | 'kind'>) =>
    one.kind !== 'repeat' &&
    one.workspaceId === workspaceId &&
    (linkId === undefined || one.linkId === linkId);
  /** Notes those that came to no end; how many were looked at. */
  async function look(
    page: readonly { accepted: readonly Accepted[] }[],
    note: (link: InStreams, submissionId: string) => void,
  ): Promise<number> {
    const asked = page.flatMap(({ accepted }) => accepted.filter(isAsked));
    const ids = asked.map(({ submissionId: id, workspaceId }) => ({ id, workspaceId }));
    const left = await unsettled(store, ids);
    for (const { submissionId, linkId } of asked)
      if (left.has(submissionId) && !known.has(submissionId)) note(linkOf(linkId), submissionId);
    return asked.length;
  }

  let looked = 0;
  for (const { stream, verified } of streams) {
    let last = verified;
    if (looked < MOST_LOOKED_AT)
      for await (const page of pages(stream.read, verified)) {
        looked += await look(page, (link, id) => link.waiting.add(id));
        last = page.at(-1)?.entryId ?? last;
        if (looked >= MOST_LOOKED_AT) break;
      }
    for await (const page of pages(stream.count, last))
      for (const one of page.flatMap(({ counts }) => counts))
        if (isAsked(one)) linkOf(one.linkId).further += one.n;
  }
  for (const { stream, verified } of streams) {
    let lookedBack = 0;
    // A page begins with the last entry of the one before: ids are a set.
    for await (const page of pages(stream.readBack, verified)) {
      lookedBack += await look(page, (link, id) => link.waiting.has(id) || link.gone.add(id));
      if (lookedBack >= MOST_LOOKED_AT) break;
    }
  }
  return links;
}

async function* pages<Entry extends { entryId: string }>(
  read: (from: string, limit: number) => Promise<Entry[]>,
  from: string,
): AsyncGenerator<Entry[]> {
  for (let next: string | undefined = from; next !== undefined;) {
    const entries = await read(next, ENTRIES_AT_ONCE);
    yield entries;
    next = entries.length < ENTRIES_AT_ONCE ? undefined : entries.at(-1)?.entryId;
  }
}

/** How a link stands now. */
function standing(
  linkId: string,
  open: readonly OpenEntry[],
  missing: readonly MissingRows[],
  found: InStreams | undefined,
) {
  const mine = open.filter((entry) => entry.linkId === linkId);
  const lost = mine.filter(({ state }) => state === 'missing').map(({ id }) => id);
  const rows = missing.find((one) => one.linkId === linkId)?.rows ?? 0;
  const gone = [...(found?.gone ?? [])];
  return {
    failed: mine.length - lost.length,
    waiting: found === undefined ? 0 : found.waiting.size + found.further,
    difference: lost.length + Math.max(rows, gone.length),
    submissions: [...lost, ...gone].slice(0, MOST_NAMED),
  };
}
