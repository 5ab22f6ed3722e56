import type { Store } from '../open-store.ts';
import {
  consentColumns,
  readConsentRecord,
  type ConsentRecord,
  type ConsentRow,
} from '../submissions/consent-record.ts';
import type { LeadRow } from './lead-row.ts';

/** Nobody is asked more often; a sender that repeats itself does not make an answer endless. */
const MOST = 1_000;

/** Every consent of a lead and of its aliases, given or refused, newest first. */
export async function consentsOfLead(
  store: Store,
  { workspaceId, id }: Pick<LeadRow, 'workspaceId' | 'id'>,
): Promise<ConsentRecord[]> {
  const rows = await store.prisma.$queryRaw<ConsentRow[]>`
    SELECT ${consentColumns}
    FROM submission s
    WHERE s.consent IS NOT NULL AND s.workspace_id = ${workspaceId}::uuid AND s.lead_id IN (
      SELECT id FROM lead WHERE workspace_id = ${workspaceId}::uuid
        AND (id = ${id}::uuid OR merged_into = ${id}::uuid))
    ORDER BY s.stamp DESC, s."order" DESC LIMIT ${MOST}`;
  return rows.flatMap((row) => readConsentRecord(row) ?? []);
}
