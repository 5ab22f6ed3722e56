import type { Note, Submission } from '@leadgate/contract';
import { recordConsents } from '../consents.ts';
import { Prisma } from '../generated/client.ts';

/**
 * Stores the submissions that are not there yet, in the order of their ids, and returns the ids of
 * those it stored, with the consents that they brought. One that another transaction is storing is waited for. An imported row is
 * remembered by its id, and not stored again after retention let it go.
 */
export async function insertSubmissions(
  tx: Prisma.TransactionClient,
  submissions: readonly Submission[],
  notesOf: (submission: Submission) => Note[],
): Promise<Set<string>> {
  const rows = submissions
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map((submission) => ({
      ...submission,
      identities: submission.identities.map(({ key, owner }) => [key, owner]),
      notes: notesOf(submission),
    }));
  // One JSON text instead of seventeen arrays, in which every text is escaped by itself.
  const inserted = await tx.$queryRaw<{ id: string }[]>`
    WITH new AS (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS new (
        id uuid, "workspaceId" uuid, "linkId" uuid, "leadId" uuid, "answeredLeadId" uuid,
        "order" bigint, stamp bigint, source text, identities jsonb, lead jsonb, notes jsonb,
        consent jsonb, body text, "bodyType" text, page text, "userAgent" text, address text,
        "requestId" text)
    ), remembered AS (
      INSERT INTO imported_row SELECT id FROM new WHERE source = 'import'
      ON CONFLICT (id) DO NOTHING
      RETURNING id
    ), stored AS (
      INSERT INTO submission
        (id, workspace_id, link_id, lead_id, answered_lead_id, "order", stamp, source, identities,
         lead, notes, consent, body, body_type, page, user_agent, address, request_id)
      SELECT * FROM new WHERE source <> 'import' OR id IN (SELECT id FROM remembered)
      ON CONFLICT (id) DO NOTHING
      RETURNING id, workspace_id, lead_id, link_id, source, consent, page, user_agent, address, stamp,
                applied_at
    ), recorded AS (${recordConsents(Prisma.sql`stored`)})
    SELECT id FROM stored`;
  return new Set(inserted.map(({ id }) => id));
}
