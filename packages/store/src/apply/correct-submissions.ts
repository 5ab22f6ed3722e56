import type { Note, Submission } from '@leadgate/contract';
import type { Route } from './plan-workspace.ts';
import type { Statements } from '../statements.ts';

/** Gives stored submissions the notes of their latest replay. */
export async function renewNotes(
  tx: Statements,
  routes: readonly Route[],
  notesOf: (submission: Submission) => Note[],
): Promise<void> {
  if (routes.length === 0) return;
  await tx.$executeRaw`
    UPDATE submission SET notes = new.notes
    FROM unnest(${routes.map(({ submission }) => submission.id)}::uuid[],
                ${routes.map(({ submission }) => JSON.stringify(notesOf(submission)))}::jsonb[])
      AS new (id, notes)
    WHERE submission.id = new.id`;
}

/** Stores submissions under the lead that began anew after the one they were reserved for. */
export async function redirectSubmissions(tx: Statements, routes: readonly Route[]): Promise<void> {
  if (routes.length === 0) return;
  await tx.$executeRaw`
    WITH new AS (
      SELECT * FROM unnest(${routes.map(({ submission }) => submission.id)}::uuid[],
                           ${routes.map(({ leadId }) => leadId)}::uuid[]) AS new (id, lead_id)
    ), consented AS (
      UPDATE consent SET lead_id = new.lead_id FROM new WHERE submission_id = new.id
    )
    UPDATE submission SET lead_id = new.lead_id FROM new WHERE submission.id = new.id`;
}

/**
 * Takes everything personal out of submissions that reached an erased lead, and stores them under it.
 * The bare row stays, so that a second run of the job finds it done.
 */
export async function blankSubmissions(tx: Statements, routes: readonly Route[]): Promise<void> {
  if (routes.length === 0) return;
  await tx.$executeRaw`
    WITH consented AS (
      DELETE FROM consent
      WHERE submission_id = ANY (${routes.map(({ submission }) => submission.id)}::uuid[])
    )
    UPDATE submission
    SET lead_id = new.lead_id, identities = '[]', lead = '{}', notes = '[]', consent = NULL, body = '',
        page = NULL, user_agent = NULL, address = NULL
    FROM unnest(${routes.map(({ submission }) => submission.id)}::uuid[],
                ${routes.map(({ leadId }) => leadId)}::uuid[]) AS new (id, lead_id)
    WHERE submission.id = new.id`;
}
