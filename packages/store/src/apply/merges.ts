import type { CustomField, Submission } from '@leadgate/contract';
import { applySubmissions, emptyLead, joinLeads, leadWithout, partsByEmail } from '@leadgate/leads';
import { randomUUID } from 'node:crypto';
import { Prisma } from '../generated/client.ts';
import { BLANK_LEAD, idsOfLead, type LeadRow, readState } from '../leads.ts';
import type { Store } from '../open-store.ts';
import { RetryTransaction, type Statements, transact } from '../statements.ts';
import type { MovedIdentity } from './apply-group.ts';
import {
  bareLead,
  type ChangedLead,
  insertLeads,
  lockLeads,
  moveDeliveries,
  noteChanges,
  shareDeliveries,
  updateLeads,
} from './lead-rows.ts';

type Merge =
  /** `moved`: identities that are the kept lead's now. Redis is to follow. */
  | { kind: 'merged'; leadId: string; mergedId: string; moved: MovedIdentity[] }
  /** Both ids stand for this lead already. */
  | { kind: 'one-lead'; leadId: string }
  | { kind: 'unknown-lead'; leadId: string }
  | { kind: 'erased-lead'; leadId: string };

/**
 * Makes one lead of two: `keepId` stays, `otherId` becomes an alias of it. The lead is the join of
 * both histories, as if every submission had been applied to it. Either id may be an alias. Safe
 * beside applyGroup and beside other merges, in any direction.
 *
 * Rejects with a StoreError.
 */
export async function mergeLeads(
  store: Store,
  workspaceId: string,
  keepId: string,
  otherId: string,
): Promise<Merge> {
  return transact(store, async (tx) => {
    const keep = await resolveLead(tx, workspaceId, keepId);
    if (keep === null) return { kind: 'unknown-lead', leadId: keepId };
    const other = await resolveLead(tx, workspaceId, otherId);
    if (other === null) return { kind: 'unknown-lead', leadId: otherId };
    if (keep === other) return { kind: 'one-lead', leadId: keep };

    const rows = await lockLeads(tx, [
      { workspaceId, id: keep },
      { workspaceId, id: other },
    ]);
    // Another merge came first: what the ids stand for now is found anew.
    if (rows.some(({ mergedInto }) => mergedInto !== null)) throw new RetryTransaction();
    const erased = rows.find(({ erasedOrder }) => erasedOrder !== null);
    if (erased !== undefined) return { kind: 'erased-lead', leadId: erased.id };

    const after = rows.map(readState).reduce(joinLeads);
    await moveDeliveries(tx, workspaceId, other, keep);
    await updateLeads(tx, [{ workspaceId, id: keep, after, event: 'lead.merged', linkIds: [] }]);
    await makeAlias(tx, workspaceId, other, keep);
    const moved = await moveIdentities(tx, workspaceId, other, keep);
    return { kind: 'merged', leadId: keep, mergedId: other, moved };
  });
}

async function resolveLead(
  tx: Statements,
  workspaceId: string,
  id: string,
): Promise<string | null> {
  const [row] = await tx.$queryRaw<Pick<LeadRow, 'id'>[]>`
    SELECT coalesce(merged_into, id) AS id FROM lead
    WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid`;
  return row?.id ?? null;
}

/**
 * An alias holds nothing of its own, however it came to be, and no alias points at another: those
 * of the merged lead now point at the kept one.
 */
export async function makeAlias(
  tx: Statements,
  workspaceId: string,
  id: string,
  leadId: string,
): Promise<void> {
  await tx.$executeRaw`
    UPDATE lead SET merged_into = ${leadId}::uuid, ${BLANK_LEAD}
    WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid`;
  await tx.$executeRaw`${noteChanges(Prisma.sql`SELECT ${workspaceId}::uuid AS workspace_id, ${id}::uuid AS id`)}`;
  await tx.$executeRaw`
    UPDATE lead SET merged_into = ${leadId}::uuid, updated_at = now()
    WHERE workspace_id = ${workspaceId}::uuid AND merged_into = ${id}::uuid`;
}

/** Gives what a lead is known by to another, or takes it away. */
export async function moveIdentities(
  tx: Statements,
  workspaceId: string,
  from: string,
  to: string | null,
): Promise<MovedIdentity[]> {
  const change =
    to === null
      ? Prisma.sql`DELETE FROM identity`
      : Prisma.sql`UPDATE identity SET lead_id = ${to}::uuid`;
  const rows = await tx.$queryRaw<{ key: string }[]>`
    ${change} WHERE workspace_id = ${workspaceId}::uuid AND lead_id = ${from}::uuid
    RETURNING key`;
  return rows.map(({ key }) => ({ workspaceId, key, from, to }));
}

/** A lead of this many submissions was not joined by mistake, and would be locked for long. */
export const MOST_SUBMISSIONS = 5_000;

interface LeadPart {
  leadId: string;
  email: string;
  submissions: number;
}

type Split =
  /** `moved`: identities that are another lead's now. Redis is to follow. */
  | { kind: 'split'; parts: LeadPart[]; moved: MovedIdentity[] }
  /** There is one email, or none. */
  | { kind: 'one-person'; leadId: string }
  | { kind: 'too-many'; leadId: string; most: number }
  | { kind: 'unknown-lead' }
  | { kind: 'erased-lead'; leadId: string };

/** What a stored submission said, and of whom. */
export type Told = Pick<
  Submission,
  'id' | 'leadId' | 'answeredLeadId' | 'order' | 'stamp' | 'lead' | 'identities'
>;

/**
 * Takes a lead apart by the emails of its submissions, as if each had been a lead of its own from the
 * beginning. The part of the oldest submission stays under the lead's id; another one stands under an
 * alias that only its submissions were answered with, or under a new id. Every id that was answered
 * stands for the part of the submission that it was answered to. A telephone that several named stays
 * with the oldest of them. `dryRun`: says what would be, and changes nothing.
 *
 * Rejects with a StoreError.
 */
export async function splitLead(
  store: Store,
  workspaceId: string,
  anyId: string,
  fields: readonly CustomField[],
  { dryRun = false } = {},
): Promise<Split> {
  return transact(store, async (tx) => {
    const ids = await idsOf(tx, workspaceId, anyId);
    const rows = await lockLeads(
      tx,
      ids.map((id) => ({ workspaceId, id })),
    );
    const row = rows.find(({ mergedInto }) => mergedInto === null);
    if (ids.length === 0) return { kind: 'unknown-lead' };
    // A merge came in between.
    if (row === undefined || (await idsOf(tx, workspaceId, anyId)).join() !== ids.join())
      throw new RetryTransaction();
    if (row.erasedOrder !== null) return { kind: 'erased-lead', leadId: row.id };

    const told = (await submissionsOf(tx, workspaceId, [row.id])).get(row.id) ?? [];
    if (told.length > MOST_SUBMISSIONS)
      return { kind: 'too-many', leadId: row.id, most: MOST_SUBMISSIONS };
    const [first, ...others] = partsByEmail(told);
    if (first === undefined || others.length === 0) return { kind: 'one-person', leadId: row.id };

    const placed = others.map((part) => ({
      ...part,
      leadId: idFor(part.submissions, told, row.id),
    }));
    const all = [{ ...first, leadId: row.id }, ...placed];
    const parts = all.map(({ leadId, key, submissions }) => ({
      leadId,
      email: key.slice('email:'.length),
      submissions: submissions.length,
    }));
    if (dryRun) return { kind: 'split', parts, moved: [] };

    const leads: ChangedLead[] = placed.map(({ leadId, submissions }) => ({
      workspaceId,
      id: leadId,
      after: applySubmissions(emptyLead(), submissions, fields),
      event: 'lead.created',
      linkIds: [],
    }));
    const rest = { own: first.submissions, others: others.flatMap((part) => part.submissions) };
    const kept: ChangedLead = {
      workspaceId,
      id: row.id,
      after: leadWithout(readState(row), rest, fields),
      event: 'lead.updated',
      linkIds: [],
    };
    await insertLeads(
      tx,
      leads.map((lead) => bareLead(lead)),
    );
    await pointAliases(tx, workspaceId, firstToName(all, idsAnsweredTo));
    await shareDeliveries(
      tx,
      workspaceId,
      row.id,
      leads.map(({ id }) => id),
    );
    await updateLeads(tx, [kept, ...leads]);

    const owners = firstToName(all, ({ identities }) => identities.map(({ key }) => key));
    for (const { leadId, submissions } of placed)
      await moveSubmissions(tx, leadId, submissions, owners);
    return { kind: 'split', parts, moved: await divideIdentities(tx, workspaceId, row.id, owners) };
  });
}

const idsAnsweredTo = ({ leadId, answeredLeadId }: Told): string[] =>
  answeredLeadId === undefined ? [leadId] : [leadId, answeredLeadId];

/** The lead and its aliases, by id. */
async function idsOf(tx: Statements, workspaceId: string, anyId: string): Promise<string[]> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    ${idsOfLead(workspaceId, anyId)} ORDER BY own.id`;
  return rows.map(({ id }) => id);
}

type ToldRow = Omit<Told, 'identities' | 'answeredLeadId'> & {
  of: string;
  answeredLeadId: string | null;
  identities: [key: string, owner: string | null][];
};

/**
 * The submissions of leads, under any of their ids, in their order: of each at most one more than a lead may
 * have to be taken apart.
 */
export async function submissionsOf(
  tx: Statements,
  workspaceId: string,
  leadIds: readonly string[],
): Promise<Map<string, Told[]>> {
  const rows = await tx.$queryRaw<ToldRow[]>`
    SELECT asked.id AS of, s.id, s.lead_id AS "leadId", s.answered_lead_id AS "answeredLeadId",
           s."order"::float8 AS "order", s.stamp::float8 AS stamp, s.lead, s.identities
    FROM unnest(${leadIds}::uuid[]) AS asked (id)
    CROSS JOIN LATERAL (
      SELECT * FROM submission
      WHERE workspace_id = ${workspaceId}::uuid AND lead_id IN (
        SELECT own.id FROM lead own
        WHERE own.workspace_id = ${workspaceId}::uuid
          AND (own.id = asked.id OR own.merged_into = asked.id))
      ORDER BY "order" LIMIT ${MOST_SUBMISSIONS + 1}) AS s
    ORDER BY s."order"`;
  const told = new Map<string, Told[]>(leadIds.map((id) => [id, []]));
  for (const { of, answeredLeadId, identities, ...row } of rows)
    told.get(of)?.push({
      ...row,
      ...(answeredLeadId !== null && { answeredLeadId }),
      identities: identities.map(([key, owner]) => ({ key, owner })),
    });
  return told;
}

/** An id that only submissions of this part were reserved for, as it was answered; else a new one. */
function idFor(own: readonly Told[], all: readonly Told[], leadId: string): string {
  const ids = new Set(own.map(({ id }) => id));
  const answered = own.find(
    (one) =>
      one.leadId !== leadId &&
      all.every((other) => other.leadId !== one.leadId || ids.has(other.id)),
  );
  return answered?.leadId ?? randomUUID();
}

type Placed = Record<'submissions', readonly Told[]> & { leadId: string };

/** The lead of the first part that names each of what `namesOf` gives. */
function firstToName(
  parts: readonly Placed[],
  namesOf: (submission: Told) => readonly string[],
): Map<string, string> {
  const owners = new Map<string, string>();
  for (const { leadId, submissions } of parts)
    for (const name of submissions.flatMap(namesOf))
      if (!owners.has(name)) owners.set(name, leadId);
  return owners;
}

/** A part's own id is a lead again, and the other ids that it was answered with stand for it. */
async function pointAliases(
  tx: Statements,
  workspaceId: string,
  standsFor: ReadonlyMap<string, string>,
): Promise<void> {
  await tx.$executeRaw`
    UPDATE lead SET merged_into = nullif(new.lead_id, lead.id), updated_at = now()
    FROM unnest(${[...standsFor.keys()]}::uuid[], ${[...standsFor.values()]}::uuid[])
      AS new (id, lead_id)
    WHERE lead.workspace_id = ${workspaceId}::uuid AND lead.id = new.id
      AND lead.merged_into IS NOT NULL`;
}

/** A replay finds them where they are now, and claims nothing that another part has. */
async function moveSubmissions(
  tx: Statements,
  leadId: string,
  submissions: readonly Told[],
  owners: ReadonlyMap<string, string>,
): Promise<void> {
  const identities = submissions.map((one) =>
    JSON.stringify(
      one.identities.map(({ key }) => [key, owners.get(key) === leadId ? leadId : null]),
    ),
  );
  await tx.$executeRaw`
    WITH consented AS (
      UPDATE consent SET lead_id = ${leadId}::uuid
      WHERE submission_id = ANY (${submissions.map(({ id }) => id)}::uuid[])
    )
    UPDATE submission SET lead_id = ${leadId}::uuid, identities = new.identities
    FROM unnest(${submissions.map(({ id }) => id)}::uuid[], ${identities}::jsonb[])
      AS new (id, identities)
    WHERE submission.id = new.id`;
}

async function divideIdentities(
  tx: Statements,
  workspaceId: string,
  from: string,
  owners: ReadonlyMap<string, string>,
): Promise<MovedIdentity[]> {
  const moves = [...owners].filter(([, to]) => to !== from);
  const rows = await tx.$queryRaw<{ key: string; to: string }[]>`
    UPDATE identity SET lead_id = new.owner
    FROM unnest(${moves.map(([key]) => key)}::text[], ${moves.map(([, to]) => to)}::uuid[])
      AS new (key, owner)
    WHERE identity.workspace_id = ${workspaceId}::uuid AND identity.key = new.key
      AND identity.lead_id = ${from}::uuid
    RETURNING identity.key, identity.lead_id AS "to"`;
  return rows.map(({ key, to }) => ({ workspaceId, key, from, to }));
}
