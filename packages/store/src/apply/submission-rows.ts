import { isExternalKey, type Note, type Submission } from '@leadgate/contract';
import { recordConsents } from '../consents.ts';
import { Prisma } from '../generated/client.ts';
import { hashedUuid, recordset, type Statements } from '../statements.ts';
import type { Route } from './plan-workspace.ts';

const newSubmissions = recordset({
  ...{ id: 'uuid', workspaceId: 'uuid', linkId: 'uuid', leadId: 'uuid', answeredLeadId: 'uuid' },
  ...{ order: 'bigint', stamp: 'bigint', source: 'text', identities: 'jsonb', lead: 'jsonb' },
  ...{ notes: 'jsonb', consent: 'jsonb', body: 'text', bodyType: 'text', page: 'text' },
  ...{ userAgent: 'text', address: 'text', requestId: 'text', mark: 'uuid' },
});

/**
 * Stores the submissions that are not there yet, in the order of their ids, and returns the ids of
 * those it stored, with the consents that they brought. One that another transaction is storing is waited for. An imported row is
 * remembered by its id, and what has an id of its sender's by that: it is not stored again, under
 * whatever id it comes, nor after retention let it go. Of a workspace that was removed nothing is stored: see
 * `removeWorkspace`.
 */
export async function insertSubmissions(
  tx: Statements,
  submissions: readonly Submission[],
  notesOf: (submission: Submission) => Note[],
): Promise<{ inserted: Set<string>; removedWorkspaces: Set<string> }> {
  const rows = submissions
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map((submission) => {
      const { id, workspaceId, linkId, leadId, answeredLeadId, order, stamp, source } = submission;
      const { identities, lead, consent, body, bodyType, page, userAgent, address, requestId } =
        submission;
      // Member by member: a spread of the submission takes ten times as long.
      return {
        id,
        workspaceId,
        linkId,
        leadId,
        answeredLeadId,
        order,
        stamp,
        source,
        identities: identities.map(({ key, owner }) => [key, owner]),
        lead,
        notes: notesOf(submission),
        consent,
        body,
        bodyType,
        page,
        userAgent,
        address,
        requestId,
        mark: markOf(
          submission,
          identities.map(({ key }) => key),
        ),
      };
    });
  const workspaceIds = [...new Set(submissions.map(({ workspaceId }) => workspaceId))];
  const found = await tx.$queryRaw<{ id: string; stored: boolean }[]>`
    WITH new AS (
      SELECT * FROM ${newSubmissions(rows)}
      WHERE "workspaceId" NOT IN (SELECT id FROM removed_workspace)
    ), remembered AS (
      INSERT INTO imported_row SELECT DISTINCT mark FROM new WHERE mark IS NOT NULL ORDER BY mark
      ON CONFLICT (id) DO NOTHING
      RETURNING id
    ), stored AS (
      INSERT INTO submission
        (id, workspace_id, link_id, lead_id, answered_lead_id, "order", stamp, source, identities,
         lead, notes, consent, body, body_type, page, user_agent, address, request_id)
      SELECT DISTINCT ON (coalesce(mark, id))
        id, "workspaceId", "linkId", "leadId", "answeredLeadId", "order", stamp, source, identities,
        lead, notes, consent, body, "bodyType", page, "userAgent", address, "requestId"
      FROM new WHERE mark IS NULL OR mark IN (SELECT id FROM remembered)
      ORDER BY coalesce(mark, id), "order"
      ON CONFLICT (id) DO NOTHING
      RETURNING id, workspace_id, lead_id, link_id, source, consent, page, user_agent, address, stamp,
                applied_at
    ), dropped AS (
      -- By its own id too: the ledger looks for it.
      INSERT INTO imported_row SELECT id FROM new
      WHERE mark <> id AND NOT EXISTS (SELECT FROM stored WHERE stored.id = new.id)
        AND NOT EXISTS (SELECT FROM submission s WHERE s.id = new.id)
      ORDER BY id
      ON CONFLICT (id) DO NOTHING
    ), recorded AS (${recordConsents(Prisma.sql`stored`)})
    SELECT id, true AS stored FROM stored UNION ALL
    SELECT id, false FROM removed_workspace WHERE id = ANY (${workspaceIds}::uuid[])`;
  const idsOf = (stored: boolean) =>
    new Set(found.flatMap((one) => (one.stored === stored ? one.id : [])));
  return { inserted: idsOf(true), removedWorkspaces: idsOf(false) };
}

/** What a submission is remembered by for good; null: by its row alone. */
function markOf({ id, source }: Submission, identityKeys: readonly string[]): string | null {
  return markOfExternal(identityKeys) ?? (source === 'import' ? id : null);
}

/** The mark by the sender's own id of it; null if it has none among its identity keys. */
export function markOfExternal(identityKeys: readonly string[]): string | null {
  const external = identityKeys.find(isExternalKey);
  return external === undefined ? null : hashedUuid(external);
}

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
