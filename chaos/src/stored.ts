import { ADDRESS_FIELDS, LEAD_FIELDS, type CustomField, type Submission } from '@leadgate/contract';
import type { LeadState, Provenance } from '@leadgate/leads';
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
    `SELECT id, workspace_id AS "workspaceId", link_id AS "linkId", lead_id AS "leadId", identities,
       "order"::float8, stamp::float8, lead, body
     FROM submission WHERE workspace_id = $1`,
  );
  const leads = await rowsOf<LeadRow>(
    `SELECT *, to_char(birthday, 'YYYY-MM-DD') AS birthday, merged_into AS "mergedInto",
       telephone_e164 AS "telephoneE164", first_touch AS "firstTouch", last_touch AS "lastTouch",
       creator_id AS "creatorId", creator_order::float8 AS "creatorOrder", custom_fields AS "customFields"
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
    submissions: submissions.map(({ identities, ...row }) => ({
      ...row,
      identities: identities.map(([key, owner]) => ({ key, owner })),
      ...{ source: 'post', notes: [], bodyType: 'json' },
    })),
    leads: new Map(leads.map((row) => [row.id, { mergedInto: row.mergedInto, state: state(row) }])),
    owners: new Map(identities.map(({ key, lead_id }) => [key, lead_id])),
    possibleDuplicates: new Set(pairs.map(({ lead_a, lead_b }) => `${lead_a} ${lead_b}`)),
  };
}

interface SubmissionRow extends Omit<Submission, 'identities' | 'source' | 'notes' | 'bodyType'> {
  identities: [key: string, owner: string | null][];
}

interface LeadRow
  extends
    Record<(typeof LEAD_FIELDS)[number], string | null>,
    Pick<LeadState, 'telephoneE164' | 'firstTouch' | 'lastTouch' | 'customFields'> {
  id: string;
  mergedInto: string | null;
  address: Record<string, string>;
  provenance: [submissionId: string, stamp: number, order: number, ...paths: string[]][];
  creatorId: string | null;
  creatorOrder: number | null;
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
  const { telephoneE164, firstTouch, lastTouch, creatorId, creatorOrder, customFields } = row;
  const creator =
    creatorId === null || creatorOrder === null
      ? null
      : { submissionId: creatorId, order: creatorOrder };
  return { values, provenance, telephoneE164, firstTouch, lastTouch, creator, customFields };
}
