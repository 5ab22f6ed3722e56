import {
  ADDRESS_FIELDS,
  type AddressField,
  type CustomValue,
  type FieldPath,
  LEAD_FIELDS,
  type LeadField,
} from '@leadgate/contract';
import type { LeadState, Provenance, TouchOfSubmission } from '@leadgate/leads';
import { Prisma } from './generated/client.ts';

/** A lead's row, read to be folded. */
export interface LeadRow extends Record<LeadField, string | null> {
  workspaceId: string;
  id: string;
  mergedInto: string | null;
  erasedOrder: number | null;
  telephoneE164: string | null;
  address: Partial<Record<AddressField, string>>;
  provenance: StoredProvenance;
  firstTouch: TouchOfSubmission | null;
  lastTouch: TouchOfSubmission | null;
  creatorId: string | null;
  creatorOrder: number | null;
  customFields: Record<string, CustomValue>;
}

/** The columns of a LeadRow. A birthday as text: a date that no time zone can shift. */
export const leadColumns = Prisma.sql`
  lead.workspace_id AS "workspaceId", lead.id, lead.merged_into AS "mergedInto",
  lead.erased_order::float8 AS "erasedOrder", lead.email, lead.name, lead.telephone,
  lead.telephone_e164 AS "telephoneE164",
  lead.document, lead.profession, lead.city, lead.state, lead.instagram,
  to_char(lead.birthday, 'YYYY-MM-DD') AS birthday, lead.address, lead.provenance,
  lead.first_touch AS "firstTouch", lead.last_touch AS "lastTouch",
  lead.creator_id AS "creatorId", lead.creator_order::float8 AS "creatorOrder",
  lead.custom_fields AS "customFields"`;

/** What is known of the lead of a row. */
export function readState(row: LeadRow): LeadState {
  const values: LeadState['values'] = {};
  for (const field of LEAD_FIELDS) if (row[field] !== null) values[field] = row[field];
  for (const field of ADDRESS_FIELDS)
    if (row.address[field] !== undefined) values[`address.${field}`] = row.address[field];
  return {
    values,
    provenance: readProvenance(row.provenance),
    telephoneE164: row.telephoneE164,
    firstTouch: row.firstTouch,
    lastTouch: row.lastTouch,
    creator:
      row.creatorId === null || row.creatorOrder === null
        ? null
        : { submissionId: row.creatorId, order: row.creatorOrder },
    customFields: row.customFields,
  };
}

/** The row's columns `address` and `provenance` of a state. */
export function addressColumn({ values }: LeadState): LeadRow['address'] {
  const address: LeadRow['address'] = {};
  for (const field of ADDRESS_FIELDS) {
    const value = values[`address.${field}`];
    if (value !== undefined) address[field] = value;
  }
  return address;
}

export function provenanceColumn({ provenance }: LeadState): LeadRow['provenance'] {
  return storedProvenance(provenance, FIELD_PATHS);
}

const FIELD_PATHS: FieldPath[] = [
  ...LEAD_FIELDS,
  ...ADDRESS_FIELDS.map((field) => `address.${field}` as const),
];

/**
 * Which submissions set the fields of a lead, as its row holds them: each submission once (id, stamp,
 * order) with its fields behind it. By field, as the join has it, the same few ids would stand in a
 * row a dozen times, and be sent, parsed and logged with every lead.
 */
export type StoredProvenance = [
  submissionId: string,
  stamp: number,
  order: number,
  ...paths: FieldPath[],
][];

type ByField = Partial<Record<FieldPath, Provenance>>;

export function readProvenance(stored: StoredProvenance): ByField {
  const byField: ByField = {};
  for (const [submissionId, stamp, order, ...paths] of stored) {
    const provenance = { submissionId, stamp, order };
    for (const path of paths) byField[path] = provenance;
  }
  return byField;
}

/** In the order of `paths`, so that equal provenance is stored equally. */
function storedProvenance(byField: ByField, paths: readonly FieldPath[]): StoredProvenance {
  const submissions = new Map<string, StoredProvenance[number]>();
  for (const path of paths) {
    const provenance = byField[path];
    if (provenance === undefined) continue;
    const { submissionId, stamp, order } = provenance;
    const known = submissions.get(submissionId);
    if (known === undefined) submissions.set(submissionId, [submissionId, stamp, order, path]);
    else known.push(path);
  }
  return [...submissions.values()];
}
