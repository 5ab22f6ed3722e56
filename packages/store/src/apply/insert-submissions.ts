import type { Note, Submission } from '@leadgate/contract';
import type { Prisma } from '../generated/client.ts';

/**
 * Stores the submissions that are not there yet, in the order of their ids, and returns the ids of
 * those it stored. One that another transaction is storing is waited for.
 */
export async function insertSubmissions(
  tx: Prisma.TransactionClient,
  submissions: readonly Submission[],
  notesOf: (submission: Submission) => Note[],
): Promise<Set<string>> {
  const rows = submissions.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const inserted = await tx.$queryRaw<{ id: string }[]>`
    INSERT INTO submission
      (id, workspace_id, link_id, lead_id, answered_lead_id, "order", stamp, source, identities,
       lead, notes, body, body_type, page, user_agent, address, request_id)
    SELECT * FROM unnest(
      ${rows.map((row) => row.id)}::uuid[],
      ${rows.map((row) => row.workspaceId)}::uuid[],
      ${rows.map((row) => row.linkId)}::uuid[],
      ${rows.map((row) => row.leadId)}::uuid[],
      ${rows.map((row) => row.answeredLeadId ?? null)}::uuid[],
      ${rows.map((row) => row.order)}::bigint[],
      ${rows.map((row) => row.stamp)}::bigint[],
      ${rows.map((row) => row.source)}::text[],
      ${rows.map((row) => JSON.stringify(row.identities.map(({ key, owner }) => [key, owner])))}::jsonb[],
      ${rows.map((row) => JSON.stringify(row.lead))}::jsonb[],
      ${rows.map((row) => JSON.stringify(notesOf(row)))}::jsonb[],
      ${rows.map((row) => row.body)}::text[],
      ${rows.map((row) => row.bodyType)}::text[],
      ${rows.map((row) => row.page ?? null)}::text[],
      ${rows.map((row) => row.userAgent ?? null)}::text[],
      ${rows.map((row) => row.address ?? null)}::text[],
      ${rows.map((row) => row.requestId ?? null)}::text[])
    ON CONFLICT (id) DO NOTHING
    RETURNING id`;
  return new Set(inserted.map(({ id }) => id));
}
