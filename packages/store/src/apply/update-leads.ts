import { traceparent } from '@leadgate/boot';
import { LEAD_FIELDS, type LeadEventType } from '@leadgate/contract';
import type { LeadState, TouchOfSubmission } from '@leadgate/leads';
import { isDeepStrictEqual } from 'node:util';
import { Prisma } from '../generated/client.ts';
import { addressColumn, provenanceColumn } from '../leads.ts';
import { insertOfTallies, type Tally } from '../tally.ts';
import type { LeadRef } from './lock-leads.ts';
import type { Statements } from '../statements.ts';

export interface ChangedLead extends LeadRef {
  after: LeadState;
  /** What people see of the change; null: nothing, the version stays. */
  event: LeadEventType | null;
  /** The links that the change came by. */
  linkIds: string[];
}

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
 * Writes what is known of leads whose rows are locked, and with it what endpoints are to be told: both, or
 * neither. What waits for an endpoint and a lead is one row, with the latest version. Who knows the lead
 * hears of it, whichever link the change came by. `tallies`: what is counted of it.
 */
export async function updateLeads(
  tx: Statements,
  leads: readonly ChangedLead[],
  tallies: readonly Tally[] = [],
): Promise<void> {
  if (leads.length + tallies.length === 0) return;
  // One statement: if no endpoint wants it, that costs a look at a small table.
  await tx.$queryRaw`
    WITH updated AS (
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
      FROM jsonb_to_recordset(${JSON.stringify(leads.map(newRow))}::jsonb) AS new (
        "workspaceId" uuid, id uuid, email text, name text, telephone text,
        "telephoneE164" text, document text,
        profession text, city text, state text, instagram text, birthday date, address jsonb,
        provenance jsonb, "firstTouch" jsonb, "lastTouch" jsonb, "creatorId" uuid,
        "creatorOrder" bigint, "customFields" jsonb, event text, "linkIds" uuid[])
      WHERE lead.workspace_id = new."workspaceId" AND lead.id = new.id
      RETURNING lead.workspace_id, lead.id, lead.version, new.event, new."linkIds"
    ), noted AS (
      ${noteChanges(Prisma.sql`SELECT workspace_id, id FROM updated WHERE event IS NOT NULL`)}
    ), told AS (
      INSERT INTO delivery
        (endpoint_id, lead_id, workspace_id, event, version, due_at, traceparent, link_id)
      SELECT endpoint.id, updated.id, workspace_id, updated.event, updated.version, now(),
        ${traceparent() ?? null}::text, updated."linkIds"[1]
      FROM updated JOIN endpoint USING (workspace_id)
      WHERE updated.event = ANY (endpoint.events)
        AND (endpoint.link_ids = '{}' OR endpoint.link_ids && updated."linkIds" OR EXISTS (
          SELECT FROM delivery known
          WHERE known.endpoint_id = endpoint.id AND known.lead_id = updated.id))
      ORDER BY endpoint.id, updated.id
      ON CONFLICT (endpoint_id, lead_id) DO UPDATE SET
        version = excluded.version,
        event = CASE
          WHEN delivery.due_at IS NULL OR delivery.event = 'lead.updated' THEN excluded.event
          ELSE delivery.event END,
        -- One that failed keeps its wait.
        due_at = coalesce(delivery.due_at, excluded.due_at),
        failed_at = NULL, traceparent = excluded.traceparent,
        link_id = coalesce(excluded.link_id, delivery.link_id)
      RETURNING 1
    ), counted AS (${insertOfTallies(tallies)})
    SELECT count(pg_notify(${DELIVERIES_CHANNEL}, '')) FROM (SELECT FROM told LIMIT 1) AS one`;
}

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
      RETURNING delivery.*
    )
    INSERT INTO delivery (endpoint_id, lead_id, workspace_id, event, version, due_at, link_id)
    SELECT endpoint_id, ${to}::uuid, workspace_id, event, 0, due_at, link_id FROM gone
    ORDER BY endpoint_id
    ON CONFLICT (endpoint_id, lead_id) DO UPDATE
    SET due_at = coalesce(delivery.due_at, excluded.due_at)`;
}

/** Who knows a lead knows the leads that it is taken apart into. */
export async function shareDeliveries(
  tx: Statements,
  workspaceId: string,
  from: string,
  to: readonly string[],
): Promise<void> {
  await tx.$executeRaw`
    INSERT INTO delivery (endpoint_id, lead_id, workspace_id, event, version, link_id)
    SELECT endpoint.id, part.id, endpoint.workspace_id, 'lead.created', 0, delivery.link_id
    FROM endpoint
    JOIN delivery ON delivery.endpoint_id = endpoint.id AND delivery.lead_id = ${from}::uuid
    CROSS JOIN unnest(${to}::uuid[]) AS part (id)
    WHERE endpoint.workspace_id = ${workspaceId}::uuid
    ORDER BY endpoint.id, part.id
    ON CONFLICT (endpoint_id, lead_id) DO NOTHING`;
}

function leadFieldsOf(values: LeadState['values']): LeadState['values'] {
  const own: LeadState['values'] = {};
  for (const field of LEAD_FIELDS) if (values[field] !== undefined) own[field] = values[field];
  return own;
}

function newRow({ workspaceId, id, after, event, linkIds }: ChangedLead): object {
  return {
    workspaceId,
    id,
    ...leadFieldsOf(after.values),
    telephoneE164: after.telephoneE164,
    address: addressColumn(after),
    provenance: provenanceColumn(after),
    firstTouch: after.firstTouch,
    lastTouch: after.lastTouch,
    creatorId: after.creator?.submissionId,
    creatorOrder: after.creator?.order,
    customFields: after.customFields,
    event,
    linkIds,
  };
}
