import { type CustomField, isExternalKey, type Submission } from '@leadgate/contract';
import { applySubmissions, emptyLead, joinLeads, leadWithout } from '@leadgate/leads';
import { isDeepStrictEqual } from 'node:util';
import { recordConsents } from '../consents.ts';
import { Prisma } from '../generated/client.ts';
import {
  hashedUuid,
  storable,
  RetryTransaction,
  type Statements,
  transact,
} from '../statements.ts';
import { type LeadRow, readState } from '../leads.ts';
import { isUnrecognised, tallyOf } from '../ledger.ts';
import type { Store } from '../open-store.ts';
import { blankSubmissions, markOfExternal } from '../submissions.ts';
import { tellEndpoints } from '../erase.ts';
import { fieldsOfWorkspaces } from '../fields.ts';
import { allNotes, lockAsPlanned, type MovedIdentity } from './apply-group.ts';
import {
  insertPossibleDuplicates,
  bareLead,
  type ChangedLead,
  eventOf,
  insertLeads,
  moveDeliveries,
  updateLeads,
  readKnown,
} from './lead-rows.ts';
import { makeAlias, moveIdentities, MOST_SUBMISSIONS, submissionsOf, type Told } from './merges.ts';
import { planWorkspace, type Route } from './plan-workspace.ts';

/** What came of submissions that were read again. */
export interface ReadAgain {
  /** Those that are what they were read as now. */
  changed: number;
  /** Those of a lead with too many others to take anything out of it. */
  left: number;
  /** Leads that only such submissions had made, and that are aliases now. */
  ended: number;
  /** Keys that are another lead's now. Redis is to follow. */
  moved: MovedIdentity[];
}

interface Stored {
  id: string;
  notes: Submission['notes'];
  /** The lead it was reserved for, and the one that this is today. */
  leadId: string;
  current: string;
}

/**
 * Has stored submissions of one workspace say what they were read as now: `submissions` are as such, with
 * the lead and the owners that a reservation gave for it, under the ids, orders and stamps that they have.
 * What they said before is taken out of their leads, as if it had never been said, and what they say now is
 * joined to the leads that they are of now. A lead that is left with nothing becomes an alias of the one
 * that its first submission went to. All of it, or nothing; the same again changes nothing. Safe beside
 * `applyGroup`, merges and erasures: what is of a person who was erased since is dropped.
 *
 * Rejects with a StoreError.
 */
export async function readAgain(
  store: Store,
  workspaceId: string,
  submissions: readonly Submission[],
): Promise<ReadAgain> {
  if (submissions.length === 0) return { changed: 0, left: 0, ended: 0, moved: [] };
  const clean = submissions.map(storable);
  return transact(store, (tx) => readOnce(tx, workspaceId, clean, store.erasureKey));
}

async function readOnce(
  tx: Statements,
  workspaceId: string,
  submissions: readonly Submission[],
  erasureKey: Uint8Array | null,
): Promise<ReadAgain> {
  const before = await readStored(tx, workspaceId, submissions);
  const large = await largeLeads(tx, workspaceId, before);
  const placeOf = new Map(
    before.flatMap((one) => (large.has(one.current) ? [] : [[one.id, one] as const])),
  );
  const again = submissions.filter(({ id }) => placeOf.has(id));
  const fields = await fieldsOfWorkspaces(tx, [workspaceId]);

  const known = await readKnown(tx, again.map(withoutExternal), erasureKey, () => true);
  const plan = planWorkspace(
    again.map(withoutExternal),
    new Set(again.map(({ id }) => id)),
    known.get(workspaceId) ?? { leads: new Map(), owners: new Map(), tombstones: new Map() },
  );
  const newLeads = [...plan.newLeads].map(([id, mergedInto]) => ({ workspaceId, id, mergedInto }));
  await insertLeads(
    tx,
    newLeads.map((lead) => bareLead(lead, lead.mergedInto)),
  );
  const kept = plan.routes.filter(({ kind }) => kind !== 'erased');
  const places = [...placeOf.values()];
  const rows = await lockAsPlanned(tx, { newLeads }, [
    ...kept,
    ...places.map(({ current }) => ({ submission: { workspaceId }, leadId: current })),
  ]);
  await lockAsRead(tx, workspaceId, places);

  const told = await submissionsOf(tx, workspaceId, [
    ...new Set(places.map(({ current }) => current)),
  ]);
  const changes = changesOf(rows, { routes: plan.routes, placeOf, told, fields });
  const targetOf = new Map(plan.routes.map(({ submission, leadId }) => [submission.id, leadId]));
  for (const { id, heir, isErased } of changes.ended)
    if (!isErased) await moveDeliveries(tx, workspaceId, id, heir);
  const notes = new Map(again.map((one) => [one.id, allNotes(one, fields)]));
  const notesOf = ({ id }: Submission) => notes.get(id) ?? [];
  // Posts are counted as unrecognised for as long as they are.
  const tallies = again.flatMap((one) => {
    const change =
      Number(isUnrecognised(notesOf(one))) -
      Number(isUnrecognised(placeOf.get(one.id)?.notes ?? []));
    return change === 0 ? [] : [{ ...tallyOf(one, 'unrecognised'), n: change }];
  });
  await updateLeads(tx, changes.leads, { tallies });
  const moved: MovedIdentity[] = [];
  for (const { id, heir, isErased } of changes.ended) {
    await makeAlias(tx, workspaceId, id, heir);
    const identities = await moveIdentities(tx, workspaceId, id, isErased ? null : heir);
    moved.push(...identities);
    if (isErased)
      await tellOfErased(tx, workspaceId, { id, heir, keys: identities.map(({ key }) => key) });
  }
  const claims = [...plan.claims].map(([key, leadId]) => ({ workspaceId, key, leadId }));
  if (!(await updateLeads(tx, [], { claims }))) throw new RetryTransaction();
  const standing = again.filter(({ id }) => kept.some(({ submission }) => submission.id === id));
  moved.push(...(await claimExternal(tx, workspaceId, { standing, targetOf, placeOf })));
  const heirOf = new Map(changes.ended.map(({ id, heir }) => [id, heir]));
  await insertPossibleDuplicates(
    tx,
    plan.duplicates.flatMap(([one, other]) => {
      const [a = '', b = ''] = [heirOf.get(one) ?? one, heirOf.get(other) ?? other].sort();
      return a === b ? [] : [{ workspaceId, a, b }];
    }),
  );
  await rewrite(tx, standing, { targetOf, notesOf });
  await blankSubmissions(
    tx,
    plan.routes.filter(({ kind }) => kind === 'erased'),
  );
  return {
    changed: again.length,
    left: before.length - again.length,
    ended: changes.ended.length,
    moved: [...plan.moved.map((move) => ({ workspaceId, ...move })), ...moved],
  };
}

/** Who was told of a lead that was of an erased person is told that it is erased, as the one that it is now. */
async function tellOfErased(
  tx: Statements,
  workspaceId: string,
  { id, heir, keys }: { id: string; heir: string; keys: readonly string[] },
): Promise<void> {
  await tx.$executeRaw`
    UPDATE lead SET version = version + 1, updated_at = now()
    WHERE workspace_id = ${workspaceId}::uuid AND id = ${heir}::uuid`;
  await tellEndpoints(tx, { workspaceId, leadId: heir, aliases: [id] }, keys);
}

/** The sender's id of a submission goes where the submission goes: it says nothing of the person. */
const withoutExternal = (submission: Submission): Submission => ({
  ...submission,
  identities: submission.identities.filter(({ key }) => !isExternalKey(key)),
});

/** Those that stand, and where. Of an erased lead nothing stands. */
function readStored(
  tx: Statements,
  workspaceId: string,
  submissions: readonly Submission[],
): Promise<Stored[]> {
  return tx.$queryRaw<Stored[]>`
    SELECT s.id, s.notes, s.lead_id AS "leadId", l.id AS current
    FROM submission s
    JOIN lead asked ON asked.workspace_id = s.workspace_id AND asked.id = s.lead_id
    JOIN lead l ON l.workspace_id = s.workspace_id AND l.id = coalesce(asked.merged_into, asked.id)
    WHERE s.workspace_id = ${workspaceId}::uuid AND l.erased_order IS NULL
      AND s.id = ANY (${submissions.map(({ id }) => id)}::uuid[])`;
}

/** The leads of today that have too many submissions. */
async function largeLeads(
  tx: Statements,
  workspaceId: string,
  stored: readonly Stored[],
): Promise<Set<string>> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT asked.id
    FROM unnest(${[...new Set(stored.map(({ current }) => current))]}::uuid[]) AS asked (id)
    WHERE EXISTS (
      SELECT FROM submission
      WHERE workspace_id = ${workspaceId}::uuid AND lead_id IN (
        SELECT own.id FROM lead own
        WHERE own.workspace_id = ${workspaceId}::uuid
          AND (own.id = asked.id OR own.merged_into = asked.id))
      OFFSET ${MOST_SUBMISSIONS})`;
  return new Set(rows.map(({ id }) => id));
}

/** Locks submissions whose leads are locked. One that went elsewhere meanwhile is looked at anew. */
async function lockAsRead(
  tx: Statements,
  workspaceId: string,
  places: readonly Stored[],
): Promise<void> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT s.id FROM submission s
    JOIN unnest(${places.map(({ id }) => id)}::uuid[], ${places.map(({ leadId }) => leadId)}::uuid[])
      AS read (id, lead_id) ON read.id = s.id AND read.lead_id = s.lead_id
    WHERE s.workspace_id = ${workspaceId}::uuid
    ORDER BY s.id FOR UPDATE OF s`;
  if (rows.length < places.length) throw new RetryTransaction();
}

interface Ended {
  id: string;
  /** The lead that its id stands for now. */
  heir: string;
  /** That one was erased. */
  isErased: boolean;
}

/** What each lead comes to. Pure. */
function changesOf(
  rows: readonly LeadRow[],
  {
    routes,
    placeOf,
    told,
    fields,
  }: {
    routes: readonly Route[];
    placeOf: ReadonlyMap<string, Stored>;
    told: ReadonlyMap<string, Told[]>;
    fields: readonly CustomField[];
  },
): { leads: ChangedLead[]; ended: Ended[] } {
  const leads: ChangedLead[] = [];
  const ended: Ended[] = [];
  const left = new Map<string, ReturnType<typeof emptyLead>>();
  const ofRoutes = routes.map((route) => ({
    route,
    from: placeOf.get(route.submission.id)?.current ?? '',
  }));
  // First what is left of leads: one that ends hands on what nothing accounts for.
  const states = new Map(
    rows.map((row) => {
      const before = row.creatorId === null ? emptyLead() : readState(row);
      const gone = ofRoutes.flatMap(({ route, from }) =>
        from === row.id ? [route.submission] : [],
      );
      const own = (told.get(row.id) ?? []).filter(({ id }) => !placeOf.has(id));
      const rest = gone.length === 0 ? before : leadWithout(before, { own, others: gone }, fields);
      return [row.id, { row, before, rest, gone }] as const;
    }),
  );
  for (const { row, rest, gone } of states.values()) {
    const come = ofRoutes.some(({ route }) => route.kind !== 'erased' && route.leadId === row.id);
    if (gone.length === 0 || come || rest.creator !== null) continue;
    const [heir] = ofRoutes.filter(({ from }) => from === row.id);
    if (heir === undefined) continue;
    const isErased = heir.route.kind === 'erased';
    ended.push({ id: row.id, heir: heir.route.leadId, isErased });
    if (!isErased)
      left.set(heir.route.leadId, joinLeads(left.get(heir.route.leadId) ?? emptyLead(), rest));
  }
  const isEnded = new Set(ended.map(({ id }) => id));
  const isHeir = new Set(ended.map(({ heir }) => heir));
  for (const { row, before, rest } of states.values()) {
    if (row.mergedInto !== null || isEnded.has(row.id)) continue;
    const come = ofRoutes.flatMap(({ route }) =>
      route.kind !== 'erased' && route.leadId === row.id ? [route.submission] : [],
    );
    const whole = joinLeads(rest, left.get(row.id) ?? emptyLead());
    const after = applySubmissions(whole, come, fields);
    if (isDeepStrictEqual(before, after) && !isHeir.has(row.id)) continue;
    leads.push({
      workspaceId: row.workspaceId,
      id: row.id,
      after,
      event: isHeir.has(row.id) ? 'lead.merged' : eventOf(before, after),
      linkIds: [...new Set(come.map(({ linkId }) => linkId))],
    });
  }
  return { leads, ended };
}

/** Has the senders' ids of submissions name the leads that they are of. */
async function claimExternal(
  tx: Statements,
  workspaceId: string,
  {
    standing,
    targetOf,
    placeOf,
  }: {
    standing: readonly Submission[];
    targetOf: ReadonlyMap<string, string>;
    placeOf: ReadonlyMap<string, Stored>;
  },
): Promise<MovedIdentity[]> {
  const claims = standing.flatMap(({ id, identities }) =>
    identities.flatMap(({ key }) =>
      isExternalKey(key)
        ? [{ key, from: placeOf.get(id)?.current ?? '', to: targetOf.get(id) ?? '' }]
        : [],
    ),
  );
  if (claims.length === 0) return [];
  const marks = claims.flatMap(({ key }) => markOfExternal([key]) ?? []).sort();
  await tx.$executeRaw`
    INSERT INTO imported_row SELECT DISTINCT unnest(${marks}::uuid[]) ON CONFLICT (id) DO NOTHING`;
  const rows = await tx.$queryRaw<{ key: string; to: string }[]>`
    INSERT INTO identity (workspace_id, key, lead_id)
    SELECT DISTINCT ON (key) ${workspaceId}::uuid, key, lead_id
    FROM unnest(${claims.map(({ key }) => key)}::text[], ${claims.map(({ to }) => to)}::uuid[])
      AS new (key, lead_id)
    ORDER BY key
    ON CONFLICT (workspace_id, key) DO UPDATE SET lead_id = excluded.lead_id
      WHERE identity.lead_id = ANY (${claims.map(({ from }) => from)}::uuid[])
    RETURNING key, lead_id AS "to"`;
  return rows.map(({ key, to }) => {
    const from = claims.find((claim) => claim.key === key)?.from ?? to;
    return { workspaceId, key, from, to };
  });
}

/** Writes what submissions say now; the ids that were answered stay on record. */
async function rewrite(
  tx: Statements,
  submissions: readonly Submission[],
  {
    targetOf,
    notesOf,
  }: {
    targetOf: ReadonlyMap<string, string>;
    notesOf: (submission: Submission) => Submission['notes'];
  },
): Promise<void> {
  if (submissions.length === 0) return;
  const rows = submissions.map((submission) => ({
    id: submission.id,
    leadId: targetOf.get(submission.id),
    identities: submission.identities.map(({ key, owner }) => [key, owner]),
    lead: submission.lead,
    notes: notesOf(submission),
    consent: submission.consent ?? null,
  }));
  const ids = submissions.map(({ id }) => id);
  await tx.$executeRaw`
    UPDATE submission SET
      answered_lead_id = nullif(coalesce(answered_lead_id, submission.lead_id), new."leadId"),
      lead_id = new."leadId", identities = new.identities, lead = new.lead, notes = new.notes,
      -- One that was given stays the proof that it is.
      consent = coalesce(submission.consent, new.consent)
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS new (
      id uuid, "leadId" uuid, identities jsonb, lead jsonb, notes jsonb, consent jsonb)
    WHERE submission.id = new.id`;
  await tx.$executeRaw`${recordConsents(
    Prisma.sql`(SELECT * FROM submission WHERE id = ANY (${ids}::uuid[]) ORDER BY id) AS brought`,
  )}`;
  await tx.$executeRaw`
    UPDATE consent SET lead_id = s.lead_id FROM submission s
    WHERE s.id = ANY (${ids}::uuid[]) AND consent.submission_id = s.id
      AND consent.lead_id <> s.lead_id`;
}

/**
 * The id of a lead that a submission begins when it names a person of its own: the same however often it is
 * read, and telling nothing.
 */
export const freshLeadId = (submissionId: string): string =>
  hashedUuid(`read again ${submissionId}`);

/** Of submissions and the leads they were reserved for, those that no other was reserved for as well. */
export async function lonely(
  store: Store,
  workspaceId: string,
  submissions: readonly Pick<Submission, 'id' | 'leadId'>[],
): Promise<Set<string>> {
  const rows = await store.prisma.$queryRaw<{ id: string }[]>`
    SELECT asked.id
    FROM unnest(${submissions.map(({ id }) => id)}::uuid[],
                ${submissions.map(({ leadId }) => leadId)}::uuid[]) AS asked (id, lead_id)
    WHERE NOT EXISTS (
      SELECT FROM submission other
      WHERE other.workspace_id = ${workspaceId}::uuid AND other.lead_id = asked.lead_id
        AND other.id <> asked.id)`;
  return new Set(rows.map(({ id }) => id));
}
