import type { RefillSource } from '@leadgate/contract';
import { directoryRevision } from './directory-revision.ts';
import { linkEntryPages } from './links/link-entries.ts';
import type { Store } from './open-store.ts';

/** Rows a page: a page is held in memory, and one command of Redis away from the next. */
const PAGE_SIZE = 5_000;

/** Postgres as the source that Redis is refilled from. */
export function refillSource(store: Store): RefillSource {
  return {
    directoryRevision: () => directoryRevision(store),
    workspaceIds: () => workspaceIds(store),
    links: () => linkEntryPages(store, PAGE_SIZE),
    identities: (workspaceId) => identityPages(store, workspaceId),
    highestOrders: (workspaceIds) => highestOrders(store, workspaceIds),
  };
}

async function workspaceIds(store: Store): Promise<string[]> {
  const rows = await store.prisma.workspace.findMany({
    select: { id: true },
    orderBy: { id: 'asc' },
  });
  return rows.map(({ id }) => id);
}

interface IdentityRow {
  key: string;
  leadId: string;
}

const BEFORE_ALL: IdentityRow = { leadId: '00000000-0000-0000-0000-000000000000', key: '' };

/** Only leads own identities: whoever makes an alias moves its identities in the same transaction. */
async function* identityPages(store: Store, workspaceId: string): AsyncGenerator<IdentityRow[]> {
  for (let last: IdentityRow | undefined = BEFORE_ALL; last !== undefined;) {
    const page: IdentityRow[] = await store.prisma.$queryRaw<IdentityRow[]>`
      SELECT key, lead_id AS "leadId" FROM identity
      WHERE workspace_id = ${workspaceId}::uuid
        AND (lead_id, key) > (${last.leadId}::uuid, ${last.key})
      ORDER BY lead_id, key LIMIT ${PAGE_SIZE}`;
    if (page.length > 0) yield page;
    last = page.at(-1);
  }
}

async function highestOrders(
  store: Store,
  workspaceIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await store.prisma.$queryRaw<{ id: string; order: number }[]>`
    SELECT w.id, newest."order"::float8 AS "order"
    FROM unnest(${workspaceIds}::uuid[]) AS w (id)
    CROSS JOIN LATERAL (
      SELECT s."order" FROM submission s WHERE s.workspace_id = w.id
      ORDER BY s."order" DESC LIMIT 1
    ) AS newest`;
  return new Map(rows.map(({ id, order }) => [id, order]));
}
