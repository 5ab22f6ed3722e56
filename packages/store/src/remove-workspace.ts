import { transact } from './apply/transact.ts';
import { withoutValues } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { listPartitions } from './partitions.ts';
import { deleteInBatches } from './retention.ts';

/** What a workspace holds, by kind. */
export interface WorkspaceCounts {
  links: number;
  fields: number;
  endpoints: number;
  leads: number;
  submissions: number;
  rejected: number;
  held: number;
  deliveries: number;
}

type Condition = (workspaceId: string) => Prisma.Sql;

const own: Condition = (id) => Prisma.sql`workspace_id = ${id}::uuid`;
const ofLinks: Condition = (id) =>
  Prisma.sql`link_id IN (SELECT id FROM capture_link WHERE workspace_id = ${id}::uuid)`;
const ofEndpoints: Condition = (id) =>
  Prisma.sql`endpoint_id IN (SELECT id FROM endpoint WHERE workspace_id = ${id}::uuid)`;
const ofSubjects: Condition = (id) => Prisma.sql`subject IN (
  SELECT ${id}::uuid UNION ALL SELECT id FROM capture_link WHERE workspace_id = ${id}::uuid
  UNION ALL SELECT id FROM campaign WHERE workspace_id = ${id}::uuid)`;

/** Tables that name no other of these by a foreign key, what is told by another's rows before it. */
const ROWS: readonly (readonly [table: string, rows: Condition])[] = [
  ['tally', own],
  ['consent', own],
  ['submission', own],
  ['rejected_submission', own],
  ['held_submission', own],
  ['discarded_submission', own],
  ['delivery_attempt', ofEndpoints],
  ['delivery', own],
  ['lead_change', own],
  ['identity', own],
  ['possible_duplicate', own],
  ['tombstone', own],
  ['erasure', own],
  ['lead', own],
  ['order_kept', own],
  ['series_minute', ofSubjects],
  ['series_hour', ofSubjects],
  ['series_day', ofSubjects],
  ['series_rank', own],
  ['series_ranking', own],
  ['campaign', own],
  ['ledger_open', own],
  ['alarm', own],
  ['link_shape', ofLinks],
  ['link_quiet', ofLinks],
];

/** What refers to a workspace by a foreign key goes with it, in one transaction. */
const WITH_IT: readonly (readonly [table: string, rows: Condition])[] = [
  ['retention_policy', own],
  ['run', own],
  ['api_token', own],
  ['operator_workspace', own],
  ['endpoint', own],
  ['custom_field', own],
  ['capture_code', ofLinks],
  ['capture_link', own],
];

/** Every table that a removal leaves without a row of the workspace. */
export const REMOVED_FROM: readonly string[] = [
  ...[...ROWS, ...WITH_IT].map(([table]) => table),
  'workspace',
];

/** Tables of processes that may have begun to write before they could see the removal. */
const WRITTEN = [
  ...(['submission', 'lead', 'rejected_submission', 'held_submission'] as const),
  ...(['discarded_submission', 'tally', 'alarm', 'delivery_attempt'] as const),
];

const PARTITIONED = ['submission', 'rejected_submission'] as const;

/** Counts what a workspace holds. */
export async function countWorkspace(
  { prisma }: Store,
  workspaceId: string,
): Promise<WorkspaceCounts> {
  const count = (table: string) =>
    Prisma.sql`(SELECT count(*) FROM ${Prisma.raw(table)} WHERE ${own(workspaceId)})::float8`;
  const [counts] = await prisma.$queryRaw<[WorkspaceCounts]>`
    SELECT ${count('capture_link')} AS links, ${count('custom_field')} AS fields,
      ${count('endpoint')} AS endpoints, ${count('submission')} AS submissions,
      ${count('rejected_submission')} AS rejected, ${count('held_submission')} AS held,
      ${count('delivery')} AS deliveries,
      (SELECT count(*) FROM lead WHERE ${own(workspaceId)} AND merged_into IS NULL)::float8 AS leads`;
  return counts;
}

/**
 * The first step: from its commit on, what comes of the workspace is dropped, and no code leads to its links
 * any more. Its runs are asked to stop, its endpoints are told nothing. Returns its links.
 */
export async function beginRemoval(store: Store, workspaceId: string): Promise<string[]> {
  return transact(store, async (tx) => {
    await tx.$executeRaw`
      INSERT INTO removed_workspace (id) VALUES (${workspaceId}::uuid) ON CONFLICT DO NOTHING`;
    await tx.$executeRaw`DELETE FROM capture_code WHERE ${ofLinks(workspaceId)}`;
    await tx.$executeRaw`UPDATE run SET stop_asked = true WHERE ${own(workspaceId)}`;
    await tx.$executeRaw`UPDATE endpoint SET state = 'paused' WHERE ${own(workspaceId)}`;
    const links = await tx.$queryRaw<{ id: string }[]>`
      SELECT id FROM capture_link WHERE ${own(workspaceId)}`;
    return links.map(({ id }) => id);
  });
}

/**
 * Takes all rows of a workspace whose removal has begun, some thousand at a time, and in the end the workspace.
 * Where it is cut off, the workspace is still there, and the same again goes on. What stays is its id, the audit
 * log, who read what, and digests of imported rows. Rejects with a StoreError.
 */
export async function removeWorkspace(store: Store, workspaceId: string): Promise<void> {
  const { prisma } = store;
  try {
    // What adds it up took it before, or finds none.
    await removeRows(store, 'tally', own(workspaceId));
    for (const table of WRITTEN)
      await prisma.$transaction(
        (tx) => tx.$executeRaw`LOCK TABLE ${Prisma.raw(table)} IN SHARE MODE`,
      );
    for (const [table, rows] of ROWS) await removeRows(store, table, rows(workspaceId));
    const endpoints = await prisma.endpoint.findMany({
      where: { workspaceId },
      select: { id: true },
    });
    await transact(store, async (tx) => {
      // Links, fields and the like that are made at this moment wait, and then find no workspace.
      await tx.$executeRaw`SELECT FROM workspace WHERE id = ${workspaceId}::uuid FOR UPDATE`;
      for (const [table, rows] of WITH_IT)
        await tx.$executeRaw`DELETE FROM ${Prisma.raw(table)} WHERE ${rows(workspaceId)}`;
      await tx.$executeRaw`DELETE FROM workspace WHERE id = ${workspaceId}::uuid`;
    });
    // What was being sent meanwhile.
    const ids = endpoints.map(({ id }) => id);
    await prisma.deliveryAttempt.deleteMany({ where: { endpointId: { in: ids } } });
  } catch (error) {
    throw withoutValues(error);
  }
}

async function removeRows(store: Store, table: string, rows: Prisma.Sql): Promise<void> {
  const partitioned = PARTITIONED.find((name) => name === table);
  const tables =
    partitioned === undefined ? [table] : await listPartitions(store.prisma, partitioned);
  for (const name of tables.map((one) => Prisma.raw(one)))
    await deleteInBatches(
      (limit) => store.prisma.$executeRaw`
        DELETE FROM ${name} WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM ${name} WHERE ${rows} LIMIT ${limit}))`,
    );
}
