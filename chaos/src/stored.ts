import {
  ADDRESS_FIELDS,
  LEAD_FIELDS,
  type CustomField,
  type Lead,
  type Submission,
} from '@leadgate/contract';
import type { LeadState, Provenance, TouchOfSubmission } from '@leadgate/leads';
import type pg from 'pg';

/** A workspace as it stands in Postgres. */
export interface Stored {
  fields: CustomField[];
  submissions: Submission[];
  /** By id, aliases too. */
  leads: Map<string, StoredLead>;
  /** Lead id by identity key. */
  owners: Map<string, string>;
  /** Two lead ids, the lower first. */
  possibleDuplicates: Set<string>;
}

export interface StoredLead {
  mergedInto: string | null;
  state: LeadState;
}

/** Reads it with statements of its own: the audit should not trust the store that it looks into. */
export async function readStored(client: pg.Client, workspaceId: string): Promise<Stored> {
  const rowsOf = async <Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> =>
    (await client.query<Row>(sql, [workspaceId])).rows;
  const fields = await rowsOf<Omit<CustomField, 'workspaceId' | 'archived'>>(
    'SELECT id, name, label, type, options FROM custom_field WHERE workspace_id = $1',
  );
  const submissions = await rowsOf<SubmissionRow>(
    `SELECT id, lead_id, "order"::float8, stamp::float8, identities, lead, link_id, body
     FROM submission WHERE workspace_id = $1`,
  );
  const leads = await rowsOf<LeadRow>(
    `SELECT *, to_char(birthday, 'YYYY-MM-DD') AS birthday, creator_order::float8 AS creator_order
     FROM lead WHERE workspace_id = $1`,
  );
  const identities = await rowsOf<{ key: string; lead_id: string }>(
    'SELECT key, lead_id FROM identity WHERE workspace_id = $1',
  );
  const pairs = await rowsOf<{ lead_a: string; lead_b: string }>(
    'SELECT lead_a, lead_b FROM possible_duplicate WHERE workspace_id = $1',
  );
  return {
    fields: fields.map((field) => ({ ...field, workspaceId, archived: false })),
    submissions: submissions.map((row) => readSubmission(row, workspaceId)),
    leads: new Map(
      leads.map((row) => [row.id, { mergedInto: row.merged_into, state: state(row) }]),
    ),
    owners: new Map(identities.map(({ key, lead_id }) => [key, lead_id])),
    possibleDuplicates: new Set(pairs.map(({ lead_a, lead_b }) => `${lead_a} ${lead_b}`)),
  };
}

interface SubmissionRow {
  id: string;
  link_id: string;
  lead_id: string;
  order: number;
  stamp: number;
  identities: [string, string | null][];
  lead: Lead;
  body: string;
}

function readSubmission(row: SubmissionRow, workspaceId: string): Submission {
  return {
    id: row.id,
    workspaceId,
    linkId: row.link_id,
    leadId: row.lead_id,
    identities: row.identities.map(([key, owner]) => ({ key, owner })),
    order: row.order,
    stamp: row.stamp,
    source: 'post',
    lead: row.lead,
    notes: [],
    body: row.body,
    bodyType: 'json',
  };
}

interface LeadRow extends Record<(typeof LEAD_FIELDS)[number], string | null> {
  id: string;
  merged_into: string | null;
  telephone_e164: string | null;
  address: Record<string, string>;
  provenance: [submissionId: string, stamp: number, order: number, ...paths: string[]][];
  first_touch: TouchOfSubmission | null;
  last_touch: TouchOfSubmission | null;
  creator_id: string | null;
  creator_order: number | null;
  custom_fields: LeadState['customFields'];
}

function state(row: LeadRow): LeadState {
  const values: Record<string, string> = {};
  for (const field of LEAD_FIELDS) if (row[field] !== null) values[field] = row[field];
  for (const field of ADDRESS_FIELDS) {
    const value = row.address[field];
    if (value !== undefined) values[`address.${field}`] = value;
  }
  const provenance: Record<string, Provenance> = {};
  for (const [submissionId, stamp, order, ...paths] of row.provenance)
    for (const path of paths) provenance[path] = { submissionId, stamp, order };
  const creator =
    row.creator_id === null || row.creator_order === null
      ? null
      : { submissionId: row.creator_id, order: row.creator_order };
  return {
    values,
    provenance,
    telephoneE164: row.telephone_e164,
    firstTouch: row.first_touch,
    lastTouch: row.last_touch,
    creator,
    customFields: row.custom_fields,
  };
}
