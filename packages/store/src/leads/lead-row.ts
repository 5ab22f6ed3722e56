import {
  LEAD_FIELDS,
  type AddressField,
  type CustomField,
  type CustomValue,
  type Lead,
  type LeadField,
} from '@leadgate/contract';
import type { UtmTouch } from '@leadgate/leads';
import { Prisma } from '../generated/client.ts';
import { isoTime } from '../iso-time.ts';
import type { StoredProvenance } from '../stored-provenance.ts';

/** What is read of a lead. `birthday` as text: a date that no time zone can shift. */
export const leadColumns = Prisma.sql`
  l.id, l.workspace_id AS "workspaceId", w.name AS "workspaceName", l.email, l.name, l.telephone,
  l.telephone_e164 AS "telephoneE164",
  l.document, l.profession, l.city, l.state, l.instagram, l.birthday::text AS birthday, l.address,
  l.provenance, l.first_touch AS "firstTouch", l.last_touch AS "lastTouch",
  l.creator_id AS "creatorId", l.creator_order::float8 AS "creatorOrder",
  l.custom_fields AS "customFields", l.erased_order IS NOT NULL AS erased,
  l.created_at AS "createdAt", l.updated_at AS "updatedAt"`;

/** A row of `leadColumns`. */
export interface LeadRow extends Record<LeadField, string | null> {
  id: string;
  workspaceId: string;
  workspaceName: string;
  telephoneE164: string | null;
  address: Partial<Record<AddressField, string>>;
  provenance: StoredProvenance;
  firstTouch: UtmTouch | null;
  lastTouch: UtmTouch | null;
  creatorId: string | null;
  creatorOrder: number | null;
  customFields: Record<string, CustomValue>;
  erased: boolean;
  createdAt: Date;
  updatedAt: Date;
}

/** A lead as operators find it: its fields are named as in a posted body. */
export interface LeadSummary extends Lead {
  leadId: string;
  workspaceId: string;
  workspace: string;
  /** The telephone with its country (E.164), where it is a valid number. */
  telephoneE164?: string;
  /** By the field's name. */
  customFields: Record<string, CustomValue>;
  /** When the lead's first submission was accepted; when its row was made, where it has none. */
  createdAt: string;
  /** When its row last changed. */
  updatedAt: string;
  erased: boolean;
}

/** A lead from its row, with the custom fields of its workspace. UTM marks are the last touch's. */
export function readLeadSummary(row: LeadRow, fields: readonly CustomField[]): LeadSummary {
  const nameOf = new Map(fields.map(({ id, name }) => [id, name]));
  return {
    leadId: row.id,
    workspaceId: row.workspaceId,
    workspace: row.workspaceName,
    ...Object.fromEntries(
      LEAD_FIELDS.flatMap((field) => (row[field] === null ? [] : [[field, row[field]]])),
    ),
    ...(row.telephoneE164 !== null && { telephoneE164: row.telephoneE164 }),
    ...(Object.keys(row.address).length > 0 && { address: row.address }),
    ...row.lastTouch?.values,
    customFields: Object.fromEntries(
      Object.entries(row.customFields).map(([id, value]) => [nameOf.get(id) ?? id, value]),
    ),
    createdAt: row.creatorOrder === null ? row.createdAt.toISOString() : isoTime(row.creatorOrder),
    updatedAt: row.updatedAt.toISOString(),
    erased: row.erased,
  };
}
