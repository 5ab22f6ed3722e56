import type { RedisConnection } from '@leadgate/boot';
import { acceptedStreams, type Accepted } from '@leadgate/queue';
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
import { operation, Refusal } from './operation.ts';
import { At, Time, Uuid } from './schema.ts';

const DAY_MS = 86_400_000;

/** Submissions of the streams that are looked at; of more, those that wait are counted without a look. */
const MOST_LOOKED_AT = 20_000;
const ENTRIES_AT_ONCE = 500;
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
      if ((await findWorkspace(store, workspaceId)) === null)
        return new Refusal('not-found', 'There is no such workspace.');
      const from = since === undefined ? new Date(Date.now() - DAY_MS) : new Date(since);
      const filter = { workspaceId, ...(linkId !== undefined && { linkId }) };
      const [sums, open, missing, streams] = await Promise.all([
        linkSums(store, { ...filter, since: from }),
        listOpen(store, filter),
        missingRows(store, new Date()),
        readStreams(await redis(), store),
      ]);
      const left = await unsettled(
        store,
        streams.looked.map(({ submissionId: id, workspaceId }) => ({ id, workspaceId })),
      );
      const links = sums.map((link) => ({
        ...link,
        ...standing(link.linkId, { open, missing, left, streams }),
      }));
      const difference = links.reduce((sum, link) => sum + link.difference, 0);
      return { since: from, difference, links };
    },
  }),
};

/** Accepted submissions as the streams have them still. */
interface Streams {
  /** Their turn may not have passed; then those whose turn has. */
  onTheWay: ReadonlySet<string>;
  looked: Accepted[];
  /** On the way, and not looked at. */
  further: Accepted[];
}

async function readStreams(redis: RedisConnection, store: Store): Promise<Streams> {
  const onTheWay = new Set<string>();
  const looked: Accepted[] = [];
  const further: Accepted[] = [];
  for (const stream of await acceptedStreams(redis)) {
    const { verified } = await ledgerCursor(store, stream.name);
    const passed = await readAll(stream, '0-0', verified);
    for (const accepted of await readAll(stream, verified, '')) {
      onTheWay.add(accepted.submissionId);
      (looked.length < MOST_LOOKED_AT ? looked : further).push(accepted);
    }
    looked.push(...passed.slice(-MOST_LOOKED_AT));
  }
  return { onTheWay, looked, further };
}

type Stream = Awaited<ReturnType<typeof acceptedStreams>>[number];

async function readAll(stream: Stream, after: string, until: string): Promise<Accepted[]> {
  const all: Accepted[] = [];
  for (let from = after; ;) {
    const entries = await stream.read(from, ENTRIES_AT_ONCE);
    for (const { entryId, accepted } of entries) {
      all.push(...accepted.filter(({ kind }) => kind !== 'repeat'));
      if (entryId === until) return all;
    }
    from = entries.at(-1)?.entryId ?? from;
    if (entries.length < ENTRIES_AT_ONCE) return all;
  }
}

/** How a link stands now. */
function standing(
  linkId: string,
  {
    open,
    missing,
    left,
    streams,
  }: {
    open: readonly OpenEntry[];
    missing: readonly MissingRows[];
    left: ReadonlySet<string>;
    streams: Streams;
  },
) {
  const mine = open.filter((entry) => entry.linkId === linkId);
  const known = new Set(mine.map(({ id }) => id));
  const isMine = (accepted: Accepted) => accepted.linkId === linkId;
  const unfinished = streams.looked.filter(
    (one) => isMine(one) && left.has(one.submissionId) && !known.has(one.submissionId),
  );
  const waiting = new Set(
    [...unfinished.filter((one) => streams.onTheWay.has(one.submissionId)), ...streams.further]
      .filter(isMine)
      .map(({ submissionId }) => submissionId),
  );
  // Its turn has passed, it had come to an end, and it is not there any more.
  const gone = unfinished.filter((one) => !waiting.has(one.submissionId));
  const lost = mine.filter(({ state }) => state === 'missing');
  const rows = missing.find((one) => one.linkId === linkId)?.rows ?? 0;
  const submissions = [...lost.map(({ id }) => id), ...gone.map((one) => one.submissionId)];
  return {
    failed: mine.filter(({ state }) => state === 'failed').length,
    waiting: waiting.size,
    difference: lost.length + Math.max(rows, gone.length),
    submissions: [...new Set(submissions)].slice(0, MOST_NAMED),
  };
}
