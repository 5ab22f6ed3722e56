import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';

/** What belongs to a workspace, and its table. */
const TABLES = {
  link: 'capture_link',
  field: 'custom_field',
  lead: 'lead',
  submission: 'submission',
  held: 'held_submission',
  rejected: 'rejected_submission',
} as const;

/** The workspace of something, by its id; null if there is no such thing. */
export async function workspaceOf(
  store: Store,
  kind: keyof typeof TABLES,
  id: string,
): Promise<string | null> {
  const [row] = await store.prisma.$queryRaw<{ workspaceId: string }[]>`
    SELECT workspace_id AS "workspaceId" FROM ${Prisma.raw(TABLES[kind])}
    WHERE id = ${id}::uuid LIMIT 1`;
  return row?.workspaceId ?? null;
}
