import type { UtmField } from '@leadgate/contract';
import { Prisma } from '../generated/client.ts';
import type { Store } from '../open-store.ts';
import { fieldsOfWorkspaces } from './fields-of-workspaces.ts';
import { leadColumns, readLeadSummary, type LeadRow, type LeadSummary } from './lead-row.ts';

export interface ExportFilter {
  workspaceId: string;
  /** Only leads that a submission of this link reached. */
  linkId?: string;
  /** Only leads created at this moment or later. */
  since?: Date;
  /** Only leads created before this moment. */
  until?: Date;
  /** Only leads whose first or last touch has these marks. */
  utm?: Partial<Record<UtmField, string>>;
}

/**
 * The leads of a workspace that fit, by id, page by page in constant memory: without aliases and
 * erased ones. Leads that come in meanwhile may be among them or not.
 */
export async function* exportLeads(
  store: Store,
  filter: ExportFilter,
  { pageSize = 1_000 } = {},
): AsyncGenerator<LeadSummary[]> {
  const fields = await fieldsOfWorkspaces(store, [filter.workspaceId]);
  const conditions = conditionsOf(filter);
  for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
    const rows = await store.prisma.$queryRaw<LeadRow[]>`
      SELECT ${leadColumns}
      FROM lead l JOIN workspace w ON w.id = l.workspace_id
      WHERE ${Prisma.join(conditions, ' AND ')} AND l.id > ${after}::uuid
      ORDER BY l.id LIMIT ${pageSize}`;
    if (rows.length > 0) yield rows.map((row) => readLeadSummary(row, fields));
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageSize) return;
    after = last.id;
  }
}

function conditionsOf({ workspaceId, linkId, since, until, utm = {} }: ExportFilter): Prisma.Sql[] {
  const created = Prisma.sql`coalesce(l.creator_order, extract(epoch FROM l.created_at) * 1000000)`;
  return [
    Prisma.sql`l.workspace_id = ${workspaceId}::uuid AND l.merged_into IS NULL
      AND l.erased_order IS NULL`,
    ...(since === undefined ? [] : [Prisma.sql`${created} >= ${since.getTime() * 1_000}::bigint`]),
    ...(until === undefined ? [] : [Prisma.sql`${created} < ${until.getTime() * 1_000}::bigint`]),
    ...(linkId === undefined
      ? []
      : [
          Prisma.sql`EXISTS (
            SELECT FROM submission s
            WHERE s.workspace_id = l.workspace_id AND s.link_id = ${linkId}::uuid
              AND (s.lead_id = l.id OR s.lead_id IN (
                SELECT alias.id FROM lead alias
                WHERE alias.workspace_id = l.workspace_id AND alias.merged_into = l.id)))`,
        ]),
    ...Object.entries(utm).map(
      ([mark, value]) => Prisma.sql`(l.first_touch->'values'->>${mark}::text = ${value}
        OR l.last_touch->'values'->>${mark}::text = ${value})`,
    ),
  ];
}
