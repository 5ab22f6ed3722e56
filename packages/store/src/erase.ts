import { contactsIn } from '@leadgate/leads';
import { DELIVERIES_CHANNEL, lockLeads, moveDeliveries, noteChanges } from './apply/lead-rows.ts';
import { eraseConsents } from './consents.ts';
import { withoutValues } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import { stampOf } from './inbox.ts';
import { type LeadDetails, showLead } from './lead-details.ts';
import { BLANK_LEAD } from './leads.ts';
import type { Store } from './open-store.ts';
import { takeFilesOfRuns } from './runs.ts';
import { pagesOf, RetryTransaction, type Statements, transact } from './statements.ts';
import { type SubmissionDetails, submissionsOfLead } from './submissions.ts';
import { hashIdentity, type KeptTable, keyCheckOf } from './tombstones.ts';

/** Whom to erase, and what is said of it afterwards. */
export interface ErasureRequest {
  workspaceId: string;
  /** Any ids of their leads. One without a row gets one. */
  leadIds: readonly string[];
  /** Of the row that says that they were erased, if they have no lead. */
  offeredLeadId: string;
  /** Identity keys that are theirs besides those of the leads. */
  identities: readonly string[];
  /** The same, as hashes of `hashIdentity`: of a ledger, which knows no more. */
  hashes?: readonly string[];
  /** Microseconds since 1970: what they sent up to then is dropped, whichever way it comes. */
  order: number;
  reason: string;
  erasedBy: string;
  erasedAt: Date;
}

/** What is known of an erasure when it is done: all that can be kept outside of the database. */
export interface Erasure {
  workspaceId: string;
  leadId: string;
  /** The ids that stand for it. */
  aliases: string[];
  /** Of `hashIdentity`. */
  hashes: string[];
  order: number;
  reason: string;
  erasedBy: string;
  erasedAt: Date;
  keyCheck: string;
}

/** What went, by kind. */
export interface ErasedCounts {
  leads: number;
  identities: number;
  submissions: number;
  /** Proofs of consent that stay, without what is about the person. */
  consents: number;
  possibleDuplicates: number;
  rejected: number;
  held: number;
  discarded: number;
}

export interface ErasedPerson {
  erasure: Erasure;
  counts: ErasedCounts;
  /** Other leads that one submission named together with theirs: perhaps the person too. */
  others: string[];
}

/** Ends a transaction that only counts. */
class DryRun extends Error {
  override readonly name = 'DryRun';
  readonly result: ErasedPerson;

  constructor(result: ErasedPerson) {
    super('a dry run');
    this.result = result;
  }
}

/**
 * Takes everything about a person out of Postgres. What stays: the ids, which say that they were
 * erased; a keyed hash of each identity, by which what comes late is dropped; bare submissions, so
 * that a job that runs again finds them done; and of consents what is proof and not about the person.
 * Runs beside applyGroup and mergeLeads; the same again finds nothing more.
 *
 * `record` is awaited before the commit: an erasure that it could not take did not happen. With
 * `dryRun` nothing changes. Rejects with a StoreError.
 */
export async function erasePerson(
  store: Store,
  request: ErasureRequest,
  { dryRun, record }: { dryRun: boolean; record: (erasure: Erasure) => Promise<void> },
): Promise<ErasedPerson> {
  const { erasureKey: key } = store;
  if (key === null) throw new TypeError('nobody can be erased without a key');
  const person = await transact(store, async (tx) => {
    const result = await eraseLead(tx, key, request);
    if (dryRun) throw new DryRun(result);
    await record(result.erasure);
    return result;
  }).catch((error: unknown) => {
    if (error instanceof DryRun) return error.result;
    throw error;
  });
  try {
    const kept = await eraseKept(store, key, person.erasure, { dryRun });
    return { ...person, counts: { ...person.counts, ...kept } };
  } catch (error) {
    throw withoutValues(error);
  }
}

async function eraseLead(
  tx: Statements,
  key: Uint8Array,
  request: ErasureRequest,
): Promise<ErasedPerson> {
  const { workspaceId, reason, erasedBy, erasedAt } = request;
  const [leadId, ...others] = await rootsOf(tx, request);
  const ids = await lockWithAliases(tx, workspaceId, [leadId, ...others]);
  const duplicates = await removePairs(tx, workspaceId, ids);
  const identities = await tx.$queryRaw<{ key: string }[]>`
    DELETE FROM identity WHERE workspace_id = ${workspaceId}::uuid AND lead_id = ANY (${ids}::uuid[])
    RETURNING key`;
  const consents = await eraseConsents(tx, {
    ...{ workspaceId, leadIds: ids, erasedAt, said: await saidBy(tx, workspaceId, ids) },
  });
  const sent = await blankHistory(tx, workspaceId, ids);
  const order = Math.max(request.order, sent.latest);
  const known = [...request.identities, ...identities.map((one) => one.key), ...sent.identities];
  const hashes = new Set([
    ...(request.hashes ?? []),
    ...known.map((identity) => hashIdentity(key, workspaceId, identity)),
  ]);
  const leads = await blankLeads(tx, workspaceId, { leadId, others, order });
  const erasure: Erasure = {
    ...{ workspaceId, leadId, order, reason, erasedBy, erasedAt },
    aliases: ids.filter((id) => id !== leadId),
    hashes: [...hashes],
    keyCheck: keyCheckOf(key),
  };
  await writeTombstones(tx, erasure);
  await tellEndpoints(tx, erasure, known);
  return {
    erasure,
    counts: {
      ...{ leads, identities: identities.length },
      ...{ submissions: sent.submissions, consents },
      ...{ possibleDuplicates: duplicates.pairs, rejected: 0, held: 0, discarded: 0 },
    },
    others: duplicates.others,
  };
}

/** The leads that the ids and identities of a request stand for. Makes a row if there is none. */
async function rootsOf(
  tx: Statements,
  { workspaceId, leadIds, identities, offeredLeadId }: ErasureRequest,
): Promise<[string, ...string[]]> {
  const rows = await tx.$queryRaw<{ id: string; root: string }[]>`
    SELECT l.id, coalesce(l.merged_into, l.id) AS root FROM lead l
    WHERE l.workspace_id = ${workspaceId}::uuid AND (l.id = ANY (${leadIds}::uuid[])
      OR l.id IN (SELECT lead_id FROM identity
                  WHERE workspace_id = ${workspaceId}::uuid AND key = ANY (${identities}::text[])))`;
  const rootOf = new Map(rows.map(({ id, root }) => [id, root]));
  const roots = new Set(leadIds.flatMap((id) => rootOf.get(id) ?? []));
  for (const { root } of rows) roots.add(root);
  const [first = leadIds[0] ?? offeredLeadId, ...others] = roots;
  const missing = new Set(leadIds.filter((id) => !rootOf.has(id)));
  if (roots.size === 0) missing.add(first);
  for (const id of missing) {
    const mergedInto = id === first ? null : first;
    const made = await tx.$executeRaw`
      INSERT INTO lead (workspace_id, id, merged_into)
      VALUES (${workspaceId}::uuid, ${id}::uuid, ${mergedInto}::uuid)
      ON CONFLICT (workspace_id, id) DO NOTHING`;
    // A group made it meanwhile: it may be an alias.
    if (made === 0) throw new RetryTransaction();
  }
  return [first, ...others];
}

/** Locks leads and returns all ids that stand for them. */
async function lockWithAliases(
  tx: Statements,
  workspaceId: string,
  roots: readonly string[],
): Promise<string[]> {
  const rows = await lockLeads(
    tx,
    roots.map((id) => ({ workspaceId, id })),
  );
  if (rows.some(({ mergedInto }) => mergedInto !== null)) throw new RetryTransaction();
  // Who makes an alias locks what it stands for: there are no more while these are locked.
  const aliases = await tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM lead
    WHERE workspace_id = ${workspaceId}::uuid AND merged_into = ANY (${roots}::uuid[])`;
  return [...roots, ...aliases.map(({ id }) => id)];
}

async function removePairs(
  tx: Statements,
  workspaceId: string,
  ids: readonly string[],
): Promise<{ pairs: number; others: string[] }> {
  const pairs = await tx.$queryRaw<{ a: string; b: string }[]>`
    DELETE FROM possible_duplicate
    WHERE workspace_id = ${workspaceId}::uuid
      AND (lead_a = ANY (${ids}::uuid[]) OR lead_b = ANY (${ids}::uuid[]))
    RETURNING lead_a AS a, lead_b AS b`;
  const named = new Set(pairs.flatMap(({ a, b }) => [a, b]));
  return { pairs: pairs.length, others: [...named].filter((id) => !ids.includes(id)) };
}

interface SentRow {
  id: string;
  order: number;
  stamp: number;
  identities: [key: string, owner: string | null][];
  blank: boolean;
}

/** What the person ever sent of themselves, as far as it is kept. */
async function saidBy(
  tx: Statements,
  workspaceId: string,
  ids: readonly string[],
): Promise<unknown> {
  return tx.$queryRaw`
    SELECT jsonb_build_array(email, name, telephone, telephone_e164, document, profession, city,
             state, instagram, birthday, address, custom_fields) AS said
    FROM lead WHERE workspace_id = ${workspaceId}::uuid AND id = ANY (${ids}::uuid[])
    UNION ALL
    SELECT lead FROM submission
    WHERE workspace_id = ${workspaceId}::uuid AND lead_id = ANY (${ids}::uuid[])`;
}

/** Takes what is about the person out of their submissions, and says what they were known by. */
async function blankHistory(
  tx: Statements,
  workspaceId: string,
  ids: readonly string[],
): Promise<{ submissions: number; identities: string[]; latest: number }> {
  const rows = await tx.$queryRaw<SentRow[]>`
    SELECT id, "order"::float8 AS "order", stamp::float8 AS stamp, identities,
           body = '' AND lead = '{}' AND consent IS NULL
             AND num_nonnulls(page, user_agent, address) = 0 AS blank
    FROM submission
    WHERE workspace_id = ${workspaceId}::uuid AND lead_id = ANY (${ids}::uuid[])`;
  const full = rows.filter(({ blank }) => !blank);
  await tx.$executeRaw`
    UPDATE submission
    SET identities = '[]', lead = '{}', notes = '[]', consent = NULL, body = '', page = NULL,
        user_agent = NULL, address = NULL
    WHERE id = ANY (${full.map(({ id }) => id)}::uuid[])`;
  return {
    submissions: full.length,
    identities: full.flatMap((row) =>
      row.identities.flatMap(([key, owner]) => (owner !== null && ids.includes(owner) ? key : [])),
    ),
    latest: rows.reduce((latest, { order, stamp }) => Math.max(latest, order, stamp), 0),
  };
}

/** Returns how many had not been erased up to then. */
async function blankLeads(
  tx: Statements,
  workspaceId: string,
  { leadId, others, order }: { leadId: string; others: readonly string[]; order: number },
): Promise<number> {
  const all = [leadId, ...others];
  const [{ count }] = await tx.$queryRaw<[{ count: number }]>`
    SELECT count(*)::float8 AS count FROM lead
    WHERE workspace_id = ${workspaceId}::uuid AND id = ANY (${all}::uuid[])
      AND erased_order IS NULL AND creator_id IS NOT NULL`;
  await tx.$executeRaw`
    UPDATE lead SET
      erased_order = CASE WHEN id = ${leadId}::uuid THEN greatest(erased_order, ${order}::bigint) END,
      merged_into = CASE WHEN id = ${leadId}::uuid THEN NULL ELSE ${leadId}::uuid END, ${BLANK_LEAD}
    WHERE workspace_id = ${workspaceId}::uuid AND id = ANY (${all}::uuid[])`;
  if (others.length > 0)
    await tx.$executeRaw`
      UPDATE lead SET merged_into = ${leadId}::uuid
      WHERE workspace_id = ${workspaceId}::uuid AND merged_into = ANY (${others}::uuid[])`;
  return count;
}

const EMAIL = 'email:';

/**
 * An endpoint that was sent the lead, or may be sent it at this moment, is told that it is erased if it wants to
 * be; what another one was to be told is not sent any more. What an endpoint answered may quote what it was sent.
 *
 * One that keeps people by their emails is to erase those too, besides the names that it answered: it may have taken
 * what it gave no answer to. They stay until it has. `identities`: what the person was known by.
 */
export async function tellEndpoints(
  tx: Statements,
  { workspaceId, leadId, aliases }: Pick<Erasure, 'workspaceId' | 'leadId' | 'aliases'>,
  identities: readonly string[],
): Promise<void> {
  const ids = [leadId, ...aliases];
  const emails = identities.flatMap((key) =>
    key.startsWith(EMAIL) ? key.slice(EMAIL.length) : [],
  );
  await tx.$executeRaw`${noteChanges(
    Prisma.sql`SELECT ${workspaceId}::uuid AS workspace_id, unnest(${ids}::uuid[]) AS id`,
  )}`;
  await tx.$executeRaw`
    UPDATE delivery_attempt SET detail = '' WHERE lead_id = ANY (${ids}::uuid[]) AND detail <> ''`;
  // What an endpoint was sent of a lead that is an alias now, it was sent of this one.
  const told = await tx.$queryRaw<{ alias: string }[]>`
    SELECT DISTINCT lead_id AS alias FROM delivery
    WHERE workspace_id = ${workspaceId}::uuid AND lead_id = ANY (${aliases}::uuid[]) ORDER BY alias`;
  for (const { alias } of told) await moveDeliveries(tx, workspaceId, alias, leadId);
  await tx.$executeRaw`
    DELETE FROM delivery d
    WHERE workspace_id = ${workspaceId}::uuid AND lead_id = ${leadId}::uuid AND NOT EXISTS (
      SELECT FROM endpoint e
      WHERE e.id = d.endpoint_id AND 'lead.erased' = ANY (e.events)
        -- A try that failed may have been read; a deliverer may be sending, or was when it died or was cut off.
        AND (d.delivered_at IS NOT NULL OR d.attempts > 0 OR e.lane_owner IS NOT NULL
             OR d.due_at <= e.lane_lost_at))`;
  await tx.$queryRaw`
    WITH told AS (
      UPDATE delivery SET
        event = 'lead.erased', version = lead.version, due_at = now(), failed_at = NULL,
        remote_ids = remote_ids || CASE WHEN endpoint.kind <> 'webhook'
          THEN ARRAY(SELECT unnest(${emails}::text[]) EXCEPT SELECT unnest(remote_ids)) END
      FROM lead, endpoint
      WHERE lead.workspace_id = ${workspaceId}::uuid AND lead.id = ${leadId}::uuid
        AND delivery.workspace_id = lead.workspace_id AND delivery.lead_id = lead.id
        AND delivery.delivered_version < lead.version AND endpoint.id = delivery.endpoint_id
      RETURNING 1
    )
    SELECT count(pg_notify(${DELIVERIES_CHANNEL}, '')) FROM (SELECT FROM told LIMIT 1) AS one`;
}

async function writeTombstones(tx: Statements, erasure: Erasure): Promise<void> {
  const { workspaceId, leadId, order, reason, erasedBy, erasedAt, keyCheck, hashes } = erasure;
  await tx.$executeRaw`
    INSERT INTO tombstone (workspace_id, identity_hash, lead_id, erased_order, created_at)
    SELECT ${workspaceId}::uuid, decode(hash, 'hex'), ${leadId}::uuid, ${order}::bigint,
           ${erasedAt}::timestamptz
    FROM unnest(${hashes.toSorted()}::text[]) AS hash
    ON CONFLICT (workspace_id, identity_hash, lead_id)
      DO UPDATE SET erased_order = greatest(tombstone.erased_order, excluded.erased_order)`;
  await tx.$executeRaw`
    INSERT INTO erasure
      (workspace_id, lead_id, erased_order, reason, erased_by, erased_at, key_check)
    VALUES (${workspaceId}::uuid, ${leadId}::uuid, ${order}::bigint, ${reason}, ${erasedBy},
            ${erasedAt}::timestamptz, ${keyCheck})
    ON CONFLICT (workspace_id, lead_id, erased_order) DO NOTHING`;
}

const TABLES: readonly KeptTable[] = [
  ...(['held_submission', 'rejected_submission', 'discarded_submission'] as const),
];

/**
 * Takes the person out of what was sent and is not applied. The tombstones are committed: once those
 * who may not have seen them are done writing, nothing of the person is stored any more.
 */
async function eraseKept(
  store: Store,
  key: Uint8Array,
  erasure: Erasure,
  { dryRun }: { dryRun: boolean },
): Promise<Pick<ErasedCounts, 'rejected' | 'held' | 'discarded'>> {
  const { workspaceId } = erasure;
  if (!dryRun) {
    await takeFilesOfRuns(store, workspaceId);
    for (const table of TABLES)
      await store.prisma.$transaction(
        (tx) => tx.$executeRaw`LOCK TABLE ${Prisma.raw(table)} IN SHARE MODE`,
      );
  }
  const isTheirs = await matcherOf(store, key, erasure);
  const found = await findKept(
    store,
    erasure,
    ({ content, stamp, became }) => (became && stamp <= erasure.order) || isTheirs(content, stamp),
  );
  const ids = (table: KeptTable) => found.flatMap((one) => (one.table === table ? one.id : []));
  if (!dryRun) {
    // Their ids were answered.
    await store.prisma.$executeRaw`
      INSERT INTO lead (workspace_id, id, merged_into)
      SELECT ${workspaceId}::uuid, id, ${erasure.leadId}::uuid
      FROM unnest(${[...new Set(found.flatMap(({ answered }) => answered))].toSorted()}::uuid[]) AS id
      ON CONFLICT (workspace_id, id) DO NOTHING`;
    await store.prisma.$executeRaw`
      DELETE FROM rejected_submission WHERE id = ANY (${ids('rejected_submission')}::uuid[])`;
    await store.prisma.$executeRaw`
      DELETE FROM held_submission WHERE id = ANY (${ids('held_submission')}::uuid[])`;
    await store.prisma.$executeRaw`
      DELETE FROM discarded_submission WHERE job_id = ANY (${ids('discarded_submission')}::text[])
        AND coalesce(workspace_id, ${workspaceId}::uuid) = ${workspaceId}::uuid`;
  }
  return {
    rejected: ids('rejected_submission').length,
    held: ids('held_submission').length,
    discarded: ids('discarded_submission').length,
  };
}

/** Something of a person that was kept and not applied. */
interface KeptOfPerson {
  table: KeptTable;
  id: string;
  /** Lead ids that were answered for it. */
  answered: string[];
  content: unknown;
}

const PAGE = 200;

/** A person, as far as an erasure tells. */
export type Person = Pick<Erasure, 'workspaceId' | 'leadId' | 'aliases' | 'hashes' | 'order'>;

/** What was kept and not applied, of all that a workspace keeps, that is of a person. */
async function findKept(
  store: Store,
  { workspaceId, leadId, aliases }: Pick<Person, 'workspaceId' | 'leadId' | 'aliases'>,
  /** `became`: it is a submission of theirs now. */
  isTheirs: (kept: { content: unknown; stamp: number; became: boolean }) => boolean,
): Promise<KeptOfPerson[]> {
  const found: KeptOfPerson[] = [];
  for (const table of TABLES)
    for await (const page of keptPages(store, table, workspaceId, [leadId, ...aliases]))
      for (const { id, stamp, content, became } of page)
        if (isTheirs({ content, stamp: stamp ?? stampOf(content), became }))
          found.push({ table, id, answered: answeredIds(content), content });
  return found;
}

/**
 * Tells what was sent by a person up to a moment, or names them: a submission, or a body that was
 * refused.
 */
export async function matcherOf(
  { prisma }: Pick<Store, 'prisma'>,
  key: Uint8Array,
  { workspaceId, leadId, aliases, hashes, order }: Person,
): Promise<(content: unknown, stamp: number) => boolean> {
  const { country } = await prisma.workspace.findUniqueOrThrow({ where: { id: workspaceId } });
  const ids = new Set([leadId, ...aliases]);
  const known = new Set(hashes);
  return (content, stamp) =>
    stamp <= order &&
    (answeredIds(content).some((id) => ids.has(id)) ||
      contactsIn(content, country).some((identity) =>
        known.has(hashIdentity(key, workspaceId, identity)),
      ));
}

/** The lead ids in what was kept. */
function answeredIds(content: unknown): string[] {
  if (typeof content !== 'object' || content === null) return [];
  return ['leadId', 'answeredLeadId'].flatMap((name) => {
    const id: unknown = Reflect.get(content, name);
    return typeof id === 'string' ? id : [];
  });
}

interface KeptRow {
  id: string;
  /** Null: as its content says. */
  stamp: number | null;
  content: unknown;
  /** Whether it became a submission of the person. */
  became: boolean;
}

/** Of each table: its id, when it was sent, what it says, and the submission that it became. */
const KEPT: Record<KeptTable, Prisma.Sql> = {
  rejected_submission: Prisma.sql`
    SELECT id::text AS id, stamp::float8 AS stamp, workspace_id, submission_id,
           to_jsonb(r) - 'stamp' - 'created_at' - 'id' - 'workspace_id' - 'link_id' AS content
    FROM rejected_submission r`,
  held_submission: Prisma.sql`
    SELECT id::text AS id, NULL::float8 AS stamp, workspace_id, id AS submission_id, content
    FROM held_submission`,
  discarded_submission: Prisma.sql`
    SELECT job_id AS id, NULL::float8 AS stamp, workspace_id, submission_id, content
    FROM discarded_submission`,
};

function keptPages(
  { prisma }: Store,
  table: KeptTable,
  workspaceId: string,
  leadIds: readonly string[],
): AsyncGenerator<KeptRow[]> {
  return pagesOf<KeptRow>(
    PAGE,
    (last) => prisma.$queryRaw`
      SELECT kept.id, kept.stamp, kept.content,
             EXISTS (SELECT FROM submission s WHERE s.id = kept.submission_id
               AND s.workspace_id = ${workspaceId}::uuid
               AND s.lead_id = ANY (${leadIds}::uuid[])) AS became
      FROM (${KEPT[table]}) AS kept
      WHERE coalesce(kept.workspace_id, ${workspaceId}::uuid) = ${workspaceId}::uuid
        AND kept.id > ${last?.id ?? ''}
      ORDER BY kept.id LIMIT ${PAGE}`,
  );
}

/**
 * Of these erasures, those that the database knows of, of the same lead or of what its id stands for; and those
 * of workspaces that it does not have.
 */
export async function erasuresThere(
  { prisma }: Store,
  erasures: readonly Erasure[],
): Promise<Set<Erasure>> {
  const rows = await prisma.$queryRaw<{ n: number }[]>`
    SELECT asked.n::float8 AS n
    FROM unnest(${erasures.map((one) => one.workspaceId)}::uuid[],
                ${erasures.map((one) => one.leadId)}::uuid[],
                ${erasures.map((one) => one.order)}::bigint[])
      WITH ORDINALITY AS asked (workspace_id, lead_id, erased_order, n)
    LEFT JOIN lead ON lead.workspace_id = asked.workspace_id AND lead.id = asked.lead_id
    WHERE NOT EXISTS (SELECT FROM workspace w WHERE w.id = asked.workspace_id)
      OR EXISTS (SELECT FROM erasure e
      WHERE e.workspace_id = asked.workspace_id AND e.erased_order >= asked.erased_order
        AND e.lead_id = coalesce(lead.merged_into, lead.id))`;
  const there = new Set(rows.map(({ n }) => n - 1));
  return new Set(erasures.filter((_, n) => there.has(n)));
}

interface HashedIdentity {
  identity: string;
  /** Of the submission that created its lead: microseconds since 1970. */
  creatorOrder: number;
}

const IDENTITIES_AT_ONCE = 5_000;

/** The identities of a workspace that hashes are of, by hash. Reads all that it has. */
export async function identitiesOfHashes(
  { prisma, erasureKey }: Store,
  workspaceId: string,
  hashes: ReadonlySet<string>,
): Promise<Map<string, HashedIdentity>> {
  const found = new Map<string, HashedIdentity>();
  if (erasureKey === null || hashes.size === 0) return found;
  const pages = pagesOf<HashedIdentity>(
    IDENTITIES_AT_ONCE,
    (last) => prisma.$queryRaw`
      SELECT i.key AS identity, coalesce(l.creator_order, 0)::float8 AS "creatorOrder"
      FROM identity i LEFT JOIN lead l ON l.workspace_id = i.workspace_id AND l.id = i.lead_id
      WHERE i.workspace_id = ${workspaceId}::uuid AND i.key > ${last?.identity ?? ''}
      ORDER BY i.key LIMIT ${IDENTITIES_AT_ONCE}`,
  );
  for await (const page of pages)
    for (const one of page) {
      const hash = hashIdentity(erasureKey, workspaceId, one.identity);
      if (hashes.has(hash)) found.set(hash, one);
    }
  return found;
}

/** What an endpoint was sent of a person. */
interface SentTo {
  endpoint: string;
  url: string;
  event: string;
  /** The version of the lead that it took last. */
  version: number;
  at: Date;
}

/** All that Postgres knows of a person. */
export interface KnownOfPerson {
  lead: Omit<LeadDetails, 'history'>;
  submissions: SubmissionDetails[];
  refused: unknown[];
  held: unknown[];
  discarded: unknown[];
  sentTo: SentTo[];
  /** Tells what else was sent by the person, or names them. */
  isTheirs: (content: unknown) => boolean;
}

/** All that Postgres knows of the person of a lead, by any of its ids; null if there is none. */
export async function knownOfPerson(store: Store, anyId: string): Promise<KnownOfPerson | null> {
  const details = await showLead(store, anyId, { historyLimit: 1 });
  if (details === null) return null;
  const { history: _, ...lead } = details;
  const { workspaceId, leadId, aliases } = lead;
  const { country } = await store.prisma.workspace.findUniqueOrThrow({
    where: { id: workspaceId },
  });
  const ids = new Set([leadId, ...aliases]);
  const identities = new Set(lead.identities.map(({ kind, value }) => `${kind}:${value}`));
  const isTheirs = (content: unknown): boolean =>
    answeredIds(content).some((id) => ids.has(id)) ||
    contactsIn(content, country).some((identity) => identities.has(identity));
  const [submissions, kept, sentTo] = await Promise.all([
    submissionsOfLead(store, leadId),
    findKept(store, lead, ({ content, became }) => became || isTheirs(content)),
    sentToEndpoints(store, [...ids]),
  ]);
  const of = (table: (typeof kept)[number]['table']) =>
    kept.flatMap((one) => (one.table === table ? [{ id: one.id, content: one.content }] : []));
  return {
    lead,
    submissions,
    refused: of('rejected_submission'),
    held: of('held_submission'),
    discarded: of('discarded_submission'),
    sentTo,
    isTheirs,
  };
}

function sentToEndpoints({ prisma }: Store, ids: readonly string[]): Promise<SentTo[]> {
  return prisma.$queryRaw<SentTo[]>`
    SELECT e.name AS endpoint, e.url, d.event, d.delivered_version AS version,
           d.delivered_at AS at
    FROM delivery d JOIN endpoint e ON e.id = d.endpoint_id
    WHERE d.lead_id = ANY (${ids}::uuid[]) AND d.delivered_at IS NOT NULL
    ORDER BY d.delivered_at`;
}
