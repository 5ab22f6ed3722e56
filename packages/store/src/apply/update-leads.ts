import { LEAD_FIELDS } from '@leadgate/contract';
import type { LeadState } from '@leadgate/leads';
import type { Prisma } from '../generated/client.ts';
import { addressColumn, provenanceColumn } from '../lead-row.ts';
import type { LeadRef } from './lock-leads.ts';

export interface ChangedLead extends LeadRef {
  after: LeadState;
}

/** Writes what is known of leads whose rows are locked. */
export async function updateLeads(
  tx: Prisma.TransactionClient,
  leads: readonly ChangedLead[],
): Promise<void> {
  if (leads.length === 0) return;
  await tx.$executeRaw`
    UPDATE lead SET
      email = new.email, name = new.name, telephone = new.telephone,
      telephone_e164 = new."telephoneE164", document = new.document,
      profession = new.profession, city = new.city, state = new.state,
      instagram = new.instagram, birthday = new.birthday, address = new.address,
      provenance = new.provenance, first_touch = new."firstTouch", last_touch = new."lastTouch",
      creator_id = new."creatorId", creator_order = new."creatorOrder",
      custom_fields = new."customFields", updated_at = now()
    FROM jsonb_to_recordset(${JSON.stringify(leads.map(newRow))}::jsonb) AS new (
      "workspaceId" uuid, id uuid, email text, name text, telephone text,
      "telephoneE164" text, document text,
      profession text, city text, state text, instagram text, birthday date, address jsonb,
      provenance jsonb, "firstTouch" jsonb, "lastTouch" jsonb, "creatorId" uuid,
      "creatorOrder" bigint, "customFields" jsonb)
    WHERE lead.workspace_id = new."workspaceId" AND lead.id = new.id`;
}

function newRow({ workspaceId, id, after }: ChangedLead): object {
  return {
    workspaceId,
    id,
    ...Object.fromEntries(LEAD_FIELDS.map((field) => [field, after.values[field]])),
    telephoneE164: after.telephoneE164,
    address: addressColumn(after),
    provenance: provenanceColumn(after),
    firstTouch: after.firstTouch,
    lastTouch: after.lastTouch,
    creatorId: after.creator?.submissionId,
    creatorOrder: after.creator?.order,
    customFields: after.customFields,
  };
}
