import { Prisma } from '../generated/client.ts';
import type { Store } from '../open-store.ts';
import {
  readRejectedSummary,
  rejectedColumns,
  rejectedJoins,
  type RejectedRow,
  type RejectedSummary,
} from './rejected-row.ts';

export interface RejectedFilter {
  workspaceId?: string;
  linkId?: string;
  /** Of the problem: `invalid-lead`, or that of one of its errors: `email`. */
  code?: string;
  /** Only those refused at this moment or later. */
  since?: Date;
  /** Only those refused before this moment. */
  until?: Date;
  /** Only those that have (true) or have not (false) become a submission. */
  replayed?: boolean;
  /** Only those with a lower id than this one, the last of the page before. */
  before?: string;
}

/** Refused bodies, newest first by id (ids are ordered in time), at most `limit`. */
export async function listRejected(
  store: Store,
  filter: RejectedFilter,
  limit: number,
): Promise<RejectedSummary[]> {
  const rows = await store.prisma.$queryRaw<RejectedRow[]>`
    SELECT ${rejectedColumns} FROM rejected_submission r ${rejectedJoins}
    WHERE ${Prisma.join(conditionsOf(filter), ' AND ')}
    ORDER BY r.id DESC LIMIT ${limit}`;
  return rows.map(readRejectedSummary);
}

/** How many refused bodies there are. */
export async function countRejected(store: Store, filter: RejectedFilter): Promise<number> {
  const [row] = await store.prisma.$queryRaw<[{ count: number }]>`
    SELECT count(*)::float8 AS count FROM rejected_submission r
    WHERE ${Prisma.join(conditionsOf(filter), ' AND ')}`;
  return row.count;
}

function conditionsOf(filter: RejectedFilter): Prisma.Sql[] {
  const { workspaceId, linkId, code, since, until, replayed, before } = filter;
  return [
    Prisma.sql`true`,
    ...(workspaceId === undefined ? [] : [Prisma.sql`r.workspace_id = ${workspaceId}::uuid`]),
    ...(linkId === undefined ? [] : [Prisma.sql`r.link_id = ${linkId}::uuid`]),
    ...(code === undefined
      ? []
      : [
          Prisma.sql`(r.code = ${code}
            OR r.errors @> ${JSON.stringify([{ code }])}::jsonb)`,
        ]),
    ...(since === undefined ? [] : [Prisma.sql`r.stamp >= ${microseconds(since)}::bigint`]),
    ...(until === undefined ? [] : [Prisma.sql`r.stamp < ${microseconds(until)}::bigint`]),
    ...(replayed === undefined
      ? []
      : [replayed ? Prisma.sql`r.submission_id IS NOT NULL` : Prisma.sql`r.submission_id IS NULL`]),
    ...(before === undefined ? [] : [Prisma.sql`r.id < ${before}::uuid`]),
  ];
}

const microseconds = (time: Date): number => time.getTime() * 1_000;
