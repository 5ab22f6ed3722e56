import type { RejectedBody } from '@leadgate/contract';
import { withoutValues } from '../failure-of.ts';
import type { Store } from '../open-store.ts';
import { storableTexts } from '../storable-text.ts';

/**
 * Keeps refused bodies for an operator to mend. One that is there already stays as it is, so that
 * saving again is harmless. Rejects with a StoreError.
 */
export async function saveRejected(store: Store, bodies: readonly RejectedBody[]): Promise<void> {
  if (bodies.length === 0) return;
  const rows = storableTexts(bodies).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  try {
    await store.prisma.$executeRaw`
      INSERT INTO rejected_submission
        (id, workspace_id, link_id, stamp, code, errors, body, body_type, page, user_agent, address)
      SELECT * FROM unnest(
        ${rows.map((row) => row.id)}::uuid[],
        ${rows.map((row) => row.workspaceId)}::uuid[],
        ${rows.map((row) => row.linkId)}::uuid[],
        ${rows.map((row) => row.stamp)}::bigint[],
        ${rows.map((row) => row.code)}::text[],
        ${rows.map((row) => JSON.stringify(row.errors))}::jsonb[],
        ${rows.map((row) => row.body)}::text[],
        ${rows.map((row) => row.bodyType)}::text[],
        ${rows.map((row) => row.page ?? null)}::text[],
        ${rows.map((row) => row.userAgent ?? null)}::text[],
        ${rows.map((row) => row.address ?? null)}::text[])
      ON CONFLICT (id) DO NOTHING`;
  } catch (error) {
    throw withoutValues(error);
  }
}
