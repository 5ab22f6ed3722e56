import { Prisma } from '../generated/client.ts';
import type { Store } from '../open-store.ts';
import {
  heldColumns,
  heldJoins,
  readHeldSummary,
  type HeldRow,
  type HeldState,
  type HeldSummary,
} from './held-row.ts';

export interface HeldFilter {
  workspaceId?: string;
  linkId?: string;
  /** Those that wait where left out. */
  state?: HeldState;
  /** Only those with a lower id than this one, the last of the page before. */
  before?: string;
}

/** Held submissions, newest first by id (ids are ordered in time), at most `limit`. */
export async function listHeld(
  store: Store,
  { workspaceId, linkId, state = 'held', before }: HeldFilter,
  limit: number,
): Promise<HeldSummary[]> {
  const conditions = [
    Prisma.sql`h.state = ${state}`,
    ...(workspaceId === undefined ? [] : [Prisma.sql`h.workspace_id = ${workspaceId}::uuid`]),
    ...(linkId === undefined ? [] : [Prisma.sql`h.link_id = ${linkId}::uuid`]),
    ...(before === undefined ? [] : [Prisma.sql`h.id < ${before}::uuid`]),
  ];
  const rows = await store.prisma.$queryRaw<HeldRow[]>`
    SELECT ${heldColumns} FROM held_submission h ${heldJoins}
    WHERE ${Prisma.join(conditions, ' AND ')}
    ORDER BY h.id DESC LIMIT ${limit}`;
  return rows.map(readHeldSummary);
}
