import { traceparent } from '@leadgate/boot';
import type { LeadEventType, LeadField, Submission } from '@leadgate/contract';
import { emptyLead, type LeadState, type TouchOfSubmission } from '@leadgate/leads';
import { isDeepStrictEqual } from 'node:util';
import { Prisma } from '../generated/client.ts';
import { addressColumn, leadColumns, type LeadRow, provenanceColumn } from '../leads.ts';
import { insertOfTallies, type Tally } from '../ledger.ts';
import { recordset, textArray, type Statements, uuidArray } from '../statements.ts';
import { readTombstones } from '../tombstones.ts';
import { type Known, successorOf } from './plan-workspace.ts';

export interface LeadRef {
  workspaceId: string;
  id: string;
}

/** The order in which rows of leads are made, locked and written, everywhere. */
function byWorkspaceAndId(a: LeadRef, b: LeadRef): number {
  if (a.workspaceId !== b.workspaceId) return a.workspaceId < b.workspaceId ? -1 : 1;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

export interface ChangedLead extends LeadRef {
  after: LeadState;
  /** What people see of the change; null: nothing, the version stays. */
  event: LeadEventType | null;
  /** The links that the change came by. */
  linkIds: string[];
}

export interface NewLead extends ChangedLead {
  /** What the id stands for, if it is an alias. */
  mergedInto: string | null;
}

/** A row of which nothing is known yet, or an alias. */
export const bareLead = (lead: LeadRef, mergedInto: string | null = null): NewLead => ({
  ...{ workspaceId: lead.workspaceId, id: lead.id, mergedInto },
  ...{ after: emptyLead(), event: null, linkIds: [] },
});

/** What a change is to people; null if all they see is as it was. */
export function eventOf(
  before: LeadState,
  after: LeadState,
): 'lead.created' | 'lead.updated' | null {
  if (before.creator === null) return after.creator === null ? null : 'lead.created';
  return looksAlike(before, after) ? null : 'lead.updated';
}

/** Whether two states differ in nothing but which submission a value is from: the same value again is no news. */
function looksAlike(a: LeadState, b: LeadState): boolean {
  return (
    a.creator?.order === b.creator?.order &&
    isSameTouch(a.lastTouch, b.lastTouch) &&
    isSameTouch(a.firstTouch, b.firstTouch) &&
    isDeepStrictEqual(others(a), others(b))
  );
}

function isSameTouch(a: TouchOfSubmission | null, b: TouchOfSubmission | null): boolean {
  return a?.stamp === b?.stamp && isDeepStrictEqual(a?.values, b?.values);
}

function others({ provenance: _, creator: __, firstTouch, lastTouch, ...rest }: LeadState): object {
  return rest;
}

/**
 * Makes the rows that are missing, whole, and tells of them as `updateLeads` does. Returns those that were there
 * already, and stay as they are; one that another transaction is making is waited for.
 */
export async function insertLeads(tx: Statements, leads: readonly NewLead[]): Promise<LeadRef[]> {
  if (leads.length === 0) return [];
  const rows = leads.toSorted(byWorkspaceAndId);
  return tx.$queryRaw<LeadRef[]>`
    WITH begun AS (SELECT * FROM ${newLeads(rows.map(newRow))}), made AS (
      INSERT INTO lead
        (workspace_id, id, merged_into, email, name, telephone, telephone_e164, document, profession,
         city, state, instagram, birthday, address, provenance, first_touch, last_touch, creator_id,
         creator_order, custom_fields, version)
      SELECT "workspaceId", id, "mergedInto", email, name, telephone, "telephoneE164", document,
        profession, city, state, instagram, birthday, address, provenance, "firstTouch", "lastTouch",
        "creatorId", "creatorOrder", "customFields", (event IS NOT NULL)::integer
      FROM begun
      ON CONFLICT (workspace_id, id) DO NOTHING
      RETURNING workspace_id, id, version
    ), changed AS (
      SELECT made.*, event, "linkIds"
      FROM made JOIN begun ON "workspaceId" = workspace_id AND begun.id = made.id WHERE event IS NOT NULL
    ), ${tell()}
    SELECT "workspaceId", id FROM begun
    WHERE ("workspaceId", id) NOT IN (SELECT workspace_id, id FROM made)`;
}

/**
 * Locks the rows of leads and reads them as they are once locked, whatever was committed before.
 * Always in the order of workspace and id, so that two groups never wait for each other.
 */
export async function lockLeads(tx: Statements, leads: readonly LeadRef[]): Promise<LeadRow[]> {
  if (leads.length === 0) return [];
  return tx.$queryRaw<LeadRow[]>`
    SELECT ${leadColumns}
    FROM lead JOIN unnest(${uuidArray(leads.map((lead) => lead.workspaceId))}::uuid[],
                          ${uuidArray(leads.map((lead) => lead.id))}::uuid[])
      AS wanted (workspace_id, id) USING (workspace_id, id)
    ORDER BY lead.workspace_id, lead.id
    FOR UPDATE OF lead`;
}

/**
 * Writes what is known of leads whose rows are locked, and with it what endpoints are to be told: both, or
 * neither. What waits for an endpoint and a lead is one row, with the latest version. Who knows the lead
 * hears of it, whichever link the change came by. `tallies`: what is counted of it. `claims`: identities to
 * store. Tells whether each of them is now owned by the lead it is stored for; a key that another lead owns stays
 * with it.
 */
export async function updateLeads(
  tx: Statements,
  leads: readonly ChangedLead[],
  { tallies = [], claims = [] }: { tallies?: readonly Tally[]; claims?: readonly Identity[] } = {},
): Promise<boolean> {
  if (leads.length + tallies.length + claims.length === 0) return true;
  const [done] = await tx.$queryRaw<[{ claimed: number }]>`
    WITH changed AS (
      UPDATE lead SET
        email = new.email, name = new.name, telephone = new.telephone,
        telephone_e164 = new."telephoneE164", document = new.document,
        profession = new.profession, city = new.city, state = new.state,
        instagram = new.instagram, birthday = new.birthday, address = new.address,
        provenance = new.provenance, first_touch = new."firstTouch", last_touch = new."lastTouch",
        creator_id = new."creatorId", creator_order = new."creatorOrder",
        custom_fields = new."customFields",
        updated_at = CASE WHEN new.event IS NULL THEN lead.updated_at ELSE now() END,
        version = lead.version + (new.event IS NOT NULL)::integer
      FROM ${newLeads(leads.map(newRow))}
      WHERE lead.workspace_id = new."workspaceId" AND lead.id = new.id
      RETURNING lead.workspace_id, lead.id, lead.version, new.event, new."linkIds"
    ), ${tell()}, counted AS (${insertOfTallies(tallies)}), claimed AS (${insertOfIdentities(claims)})
    SELECT count(*)::float8 AS claimed FROM claimed`;
  return done.claimed === claims.length || areOwned(tx, claims);
}

const newLeads = recordset({
  ...{ workspaceId: 'uuid', id: 'uuid', mergedInto: 'uuid', email: 'text', name: 'text' },
  ...{ telephone: 'text', telephoneE164: 'text', document: 'text', profession: 'text' },
  ...{ city: 'text', state: 'text', instagram: 'text', birthday: 'date', address: 'jsonb' },
  ...{ provenance: 'jsonb', firstTouch: 'jsonb', lastTouch: 'jsonb', creatorId: 'uuid' },
  ...{ creatorOrder: 'bigint', customFields: 'jsonb', event: 'text', linkIds: 'uuid[]' },
});

/**
 * Parts of a statement that has written leads, as `changed`: who asks for changes is told, and so are endpoints. If
 * none wants it, that costs a look at a small table.
 */
const tell = (): Prisma.Sql => Prisma.sql`
  noted AS (
    ${noteChanges(Prisma.sql`SELECT workspace_id, id FROM changed WHERE event IS NOT NULL`)}
  ), told AS (
    INSERT INTO delivery
      (endpoint_id, lead_id, workspace_id, event, version, due_at, traceparent, link_id)
    SELECT endpoint.id, changed.id, workspace_id, changed.event, changed.version, now(),
      ${traceparent() ?? null}::text, changed."linkIds"[1]
    FROM changed JOIN endpoint USING (workspace_id)
    WHERE changed.event = ANY (endpoint.events)
      AND (endpoint.link_ids = '{}' OR endpoint.link_ids && changed."linkIds" OR EXISTS (
        SELECT FROM delivery known
        WHERE known.endpoint_id = endpoint.id AND known.lead_id = changed.id))
    ORDER BY endpoint.id, changed.id
    ON CONFLICT (endpoint_id, lead_id) DO UPDATE SET
      version = excluded.version,
      event = CASE
        WHEN delivery.due_at IS NULL OR delivery.event = 'lead.updated' THEN excluded.event
        ELSE delivery.event END,
      -- One that failed keeps its wait.
      due_at = coalesce(delivery.due_at, excluded.due_at),
      failed_at = NULL, traceparent = excluded.traceparent,
      link_id = coalesce(excluded.link_id, delivery.link_id)
    RETURNING pg_notify(${DELIVERIES_CHANNEL}, '')::text
  )`;

/** Deliverers listen here. */
export const DELIVERIES_CHANNEL = 'leadgate_deliveries';

/** Notes that leads changed, for who asks for changes. `leads`: a SELECT of `workspace_id` and `id`. */
export function noteChanges(leads: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO lead_change (workspace_id, xid, lead_ids)
    SELECT workspace_id, pg_current_xact_id()::text::bigint, array_agg(id ORDER BY id)
    FROM (${leads}) AS changed GROUP BY workspace_id ORDER BY workspace_id
    ON CONFLICT (workspace_id, xid) DO UPDATE
      SET lead_ids = lead_change.lead_ids || excluded.lead_ids`;
}

/** What endpoints know of a lead that ended they know of the one that it is now. */
export async function moveDeliveries(
  tx: Statements,
  workspaceId: string,
  from: string,
  to: string,
): Promise<void> {
  await tx.$executeRaw`
    WITH gone AS (
      DELETE FROM delivery USING endpoint
      WHERE endpoint.workspace_id = ${workspaceId}::uuid AND delivery.endpoint_id = endpoint.id
        AND delivery.lead_id = ${from}::uuid
      RETURNING delivery.*,
        -- It may be on its way: what comes of it finds no row, as of a try without an answer.
        (lane_owner IS NOT NULL AND due_at IS NOT NULL)::integer AS sending
    )
    INSERT INTO delivery (endpoint_id, lead_id, workspace_id, event, version, due_at, attempts,
                          delivered_at, link_id, remote_ids)
    SELECT endpoint_id, ${to}::uuid, workspace_id, event, 0, due_at, greatest(attempts, sending),
           delivered_at, link_id, remote_ids FROM gone
    ORDER BY endpoint_id
    ON CONFLICT (endpoint_id, lead_id) DO UPDATE SET
      due_at = coalesce(delivery.due_at, excluded.due_at),
      attempts = greatest(delivery.attempts, excluded.attempts),
      delivered_at = greatest(delivery.delivered_at, excluded.delivered_at),
      remote_ids = ARRAY(SELECT DISTINCT unnest(delivery.remote_ids || excluded.remote_ids))`;
}

/**
 * Who knows a lead knows the leads that it is taken apart into. Which of them its names there are of is not known:
 * each says its own when it is sent.
 */
export async function shareDeliveries(
  tx: Statements,
  workspaceId: string,
  from: string,
  to: readonly string[],
): Promise<void> {
  await tx.$executeRaw`
    WITH nameless AS (
      UPDATE delivery SET remote_ids = '{}'
      WHERE workspace_id = ${workspaceId}::uuid AND lead_id = ${from}::uuid
    )
    INSERT INTO delivery (endpoint_id, lead_id, workspace_id, event, version, link_id)
    SELECT endpoint.id, part.id, endpoint.workspace_id, 'lead.created', 0, delivery.link_id
    FROM endpoint
    JOIN delivery ON delivery.endpoint_id = endpoint.id AND delivery.lead_id = ${from}::uuid
    CROSS JOIN unnest(${to}::uuid[]) AS part (id)
    WHERE endpoint.workspace_id = ${workspaceId}::uuid
    ORDER BY endpoint.id, part.id
    ON CONFLICT (endpoint_id, lead_id) DO NOTHING`;
}

/** Member by member: a spread takes ten times as long. */
function newRow(lead: ChangedLead | NewLead) {
  const { workspaceId, id, after, event, linkIds } = lead;
  const { values, telephoneE164, firstTouch, lastTouch, creator, customFields } = after;
  return {
    workspaceId,
    id,
    mergedInto: 'mergedInto' in lead ? lead.mergedInto : null,
    email: values.email,
    name: values.name,
    telephone: values.telephone,
    document: values.document,
    profession: values.profession,
    city: values.city,
    state: values.state,
    instagram: values.instagram,
    birthday: values.birthday,
    telephoneE164,
    address: addressColumn(after),
    provenance: provenanceColumn(after),
    firstTouch,
    lastTouch,
    creatorId: creator?.submissionId,
    creatorOrder: creator?.order,
    customFields,
    event,
    linkIds,
  } satisfies Record<LeadField, unknown> & Record<string, unknown>;
}

export interface Identity {
  workspaceId: string;
  key: string;
  leadId: string;
}

/**
 * The INSERT of identities, in the order of their keys, to stand in a WITH or by itself: a key that another
 * lead owns stays with it. `areOwned` says whose they are if it stored fewer.
 */
function insertOfIdentities(identities: readonly Identity[]): Prisma.Sql {
  const rows = identities.toSorted(byWorkspaceAndKey);
  return Prisma.sql`
    INSERT INTO identity (workspace_id, key, lead_id)
    SELECT * FROM unnest(${uuidArray(rows.map((row) => row.workspaceId))}::uuid[],
                         ${textArray(rows.map((row) => row.key))}::text[],
                         ${uuidArray(rows.map((row) => row.leadId))}::uuid[])
    ON CONFLICT (workspace_id, key) DO NOTHING
    RETURNING 1`;
}

/** Whether each key is owned by its lead: a statement of its own sees what others committed meanwhile. */
async function areOwned(tx: Statements, identities: readonly Identity[]): Promise<boolean> {
  const [owned] = await tx.$queryRaw<[{ count: number }]>`
    SELECT count(*)::float8 AS count
    FROM identity JOIN unnest(${identities.map((row) => row.workspaceId)}::uuid[],
                              ${identities.map((row) => row.key)}::text[],
                              ${identities.map((row) => row.leadId)}::uuid[])
      AS wanted (workspace_id, key, lead_id) USING (workspace_id, key, lead_id)`;
  return owned.count === identities.length;
}

function byWorkspaceAndKey(a: Identity, b: Identity): number {
  if (a.workspaceId !== b.workspaceId) return a.workspaceId < b.workspaceId ? -1 : 1;
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

/** Two leads that one submission named at once; `a` is the lower id. */
export interface PossibleDuplicate {
  workspaceId: string;
  a: string;
  b: string;
}

/**
 * Stores pairs that are not there yet. An id may have no row yet and become an alias later: whoever
 * reads the pairs follows aliases and skips those that have come to one lead.
 */
export async function insertPossibleDuplicates(
  tx: Statements,
  pairs: readonly PossibleDuplicate[],
): Promise<void> {
  if (pairs.length === 0) return;
  const rows = pairs.toSorted((one, other) => (sortKey(one) < sortKey(other) ? -1 : 1));
  await tx.$executeRaw`
    INSERT INTO possible_duplicate (workspace_id, lead_a, lead_b)
    SELECT * FROM unnest(${rows.map((row) => row.workspaceId)}::uuid[],
                         ${rows.map((row) => row.a)}::uuid[], ${rows.map((row) => row.b)}::uuid[])
    ON CONFLICT (workspace_id, lead_a, lead_b) DO NOTHING`;
}

function sortKey({ workspaceId, a, b }: PossibleDuplicate): string {
  return `${workspaceId} ${a} ${b}`;
}

/** What is asked about: a lead id or a key, in a workspace. */
interface Asked {
  workspaceId: string;
  value: string;
}

interface FoundRow {
  workspaceId: string;
  /** The identity's key; null for the row of a lead. */
  key: string | null;
  leadId: string;
  mergedInto: string | null;
  erasedOrder: number | null;
}

/**
 * What Postgres holds of the leads and keys that the submissions name, and of the leads those lead
 * to: by workspace id. Read without locks: it is a hint until the rows are locked. One statement
 * where reservations and Postgres agree. `isLate`: which may be of a person who was erased before they were
 * reserved.
 */
export async function readKnown(
  tx: Statements,
  submissions: readonly Submission[],
  erasureKey: Uint8Array | null,
  isLate = mayBeLate,
): Promise<Map<string, Known>> {
  const known = new Map<string, Known>(
    submissions.map(({ workspaceId }) => [
      workspaceId,
      { leads: new Map(), owners: new Map(), tombstones: new Map() },
    ]),
  );
  const asked = new Set<string>();
  const notAsked = ({ workspaceId, value }: Asked) => {
    const before = asked.size;
    return asked.add(`${workspaceId} ${value}`).size > before;
  };
  let keys = submissions.flatMap(keysOf).filter(notAsked);
  let leads = submissions.flatMap(leadsOf).filter(notAsked);
  while (keys.length + leads.length > 0) {
    const rows = await find(tx, keys, leads);
    for (const row of rows) remember(known, row);
    keys = [];
    leads = rows.flatMap(followed).filter(notAsked);
  }
  const late = submissions.filter(isLate).flatMap(keysOf);
  const tombstoneOf = await readTombstones(tx, erasureKey, late);
  for (const asked of late) {
    const tombstone = tombstoneOf(asked);
    if (tombstone !== undefined)
      known.get(asked.workspaceId)?.tombstones.set(asked.value, tombstone);
  }
  return known;
}

/**
 * Whether it can be of a person who was erased before it was reserved. What was reserved before the
 * erasure is for the erased lead, and what was reserved when it was sent is from after it.
 */
const mayBeLate = ({ stamp, order, source }: Submission): boolean =>
  stamp < order || source === 'import';

/**
 * LATERAL with LIMIT is one index look-up a key. As plain joins, this reads the whole identity table
 * until it is some hundred thousand rows long.
 */
function find(tx: Statements, keys: Asked[], leads: Asked[]): Promise<FoundRow[]> {
  return tx.$queryRaw<FoundRow[]>`
    SELECT asked.workspace_id AS "workspaceId", asked.key, found.lead_id AS "leadId",
           NULL::uuid AS "mergedInto", NULL::float8 AS "erasedOrder"
    FROM unnest(${uuidArray(keys.map((key) => key.workspaceId))}::uuid[],
                ${textArray(keys.map((key) => key.value))}::text[]) AS asked (workspace_id, key),
      LATERAL (SELECT lead_id FROM identity
               WHERE identity.workspace_id = asked.workspace_id AND identity.key = asked.key
               LIMIT 1) AS found
    UNION ALL
    SELECT asked.workspace_id, NULL, asked.id, found.merged_into, found.erased_order::float8
    FROM unnest(${uuidArray(leads.map((lead) => lead.workspaceId))}::uuid[],
                ${uuidArray(leads.map((lead) => lead.value))}::uuid[]) AS asked (workspace_id, id),
      LATERAL (SELECT merged_into, erased_order FROM lead
               WHERE lead.workspace_id = asked.workspace_id AND lead.id = asked.id
               LIMIT 1) AS found`;
}

function remember(known: Map<string, Known>, row: FoundRow): void {
  const { key, leadId, mergedInto, erasedOrder } = row;
  const workspace = known.get(row.workspaceId);
  if (key === null) workspace?.leads.set(leadId, { mergedInto, erasedOrder });
  else workspace?.owners.set(key, leadId);
}

/** The lead that a found row leads on to: an owner, what an alias stands for, a successor. */
function followed({ workspaceId, key, leadId, mergedInto, erasedOrder }: FoundRow): Asked[] {
  if (key !== null) return [{ workspaceId, value: leadId }];
  if (mergedInto !== null) return [{ workspaceId, value: mergedInto }];
  return erasedOrder === null ? [] : [{ workspaceId, value: successorOf(leadId) }];
}

function keysOf({ workspaceId, leadId, identities }: Submission): Asked[] {
  return identities
    .filter(({ owner }) => owner === leadId)
    .map(({ key }) => ({ workspaceId, value: key }));
}

function leadsOf({ workspaceId, leadId, answeredLeadId, identities }: Submission): Asked[] {
  return [leadId, answeredLeadId, ...identities.map(({ owner }) => owner)]
    .filter((id) => typeof id === 'string')
    .map((id) => ({ workspaceId, value: id }));
}
