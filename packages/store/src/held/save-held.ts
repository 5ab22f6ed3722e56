import type { Submission } from '@leadgate/contract';
import { withoutValues } from '../failure-of.ts';
import type { Store } from '../open-store.ts';
import { storable } from '../apply/storable.ts';

/**
 * Keeps held submissions for an operator. One that is there already, or was applied under its id,
 * stays as it is, so that saving again is harmless. Rejects with a StoreError.
 */
export async function saveHeld(store: Store, submissions: readonly Submission[]): Promise<void> {
  if (submissions.length === 0) return;
  const rows = submissions
    .map(storable)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map((submission) => ({
      id: submission.id,
      workspaceId: submission.workspaceId,
      linkId: submission.linkId,
      reason: submission.held?.reason,
      content: submission,
    }));
  try {
    await store.prisma.$executeRaw`
      INSERT INTO held_submission (id, workspace_id, link_id, reason, content)
      SELECT new.id, new."workspaceId", new."linkId", new.reason, new.content
      FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS new (
        id uuid, "workspaceId" uuid, "linkId" uuid, reason text, content jsonb)
      WHERE NOT EXISTS (SELECT 1 FROM submission s WHERE s.id = new.id)
      ON CONFLICT (id) DO NOTHING`;
  } catch (error) {
    throw withoutValues(error);
  }
}
