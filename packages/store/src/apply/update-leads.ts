import type { LeadState } from '@leadgate/leads';
import type { LeadField } from '@leadgate/contract';
import type { Prisma } from '../generated/client.ts';
import { storedAddress, storedProvenance } from './lead-row.ts';
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
  const states = leads.map(({ after }) => after);
  const column = (field: LeadField) => states.map(({ values }) => values[field] ?? null);
  const json = (read: (state: LeadState) => unknown) =>
    states.map((state) => jsonOrNull(read(state)));
  await tx.$executeRaw`
    UPDATE lead SET
      email = new.email, name = new.name, telephone = new.telephone, document = new.document,
      profession = new.profession, city = new.city, state = new.state,
      instagram = new.instagram, birthday = new.birthday, address = new.address,
      provenance = new.provenance, first_touch = new.first_touch, last_touch = new.last_touch,
      creator_id = new.creator_id, creator_order = new.creator_order,
      custom_fields = new.custom_fields, updated_at = now()
    FROM unnest(
      ${leads.map((lead) => lead.workspaceId)}::uuid[], ${leads.map((lead) => lead.id)}::uuid[],
      ${column('email')}::text[], ${column('name')}::text[], ${column('telephone')}::text[],
      ${column('document')}::text[], ${column('profession')}::text[], ${column('city')}::text[],
      ${column('state')}::text[], ${column('instagram')}::text[], ${column('birthday')}::date[],
      ${json(storedAddress)}::jsonb[], ${json(storedProvenance)}::jsonb[],
      ${json(({ firstTouch }) => firstTouch)}::jsonb[],
      ${json(({ lastTouch }) => lastTouch)}::jsonb[],
      ${states.map(({ creator }) => creator?.submissionId ?? null)}::uuid[],
      ${states.map(({ creator }) => creator?.order ?? null)}::bigint[],
      ${json(({ customFields }) => customFields)}::jsonb[]
    ) AS new (workspace_id, id, email, name, telephone, document, profession, city, state,
              instagram, birthday, address, provenance, first_touch, last_touch, creator_id,
              creator_order, custom_fields)
    WHERE lead.workspace_id = new.workspace_id AND lead.id = new.id`;
}

function jsonOrNull(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}
