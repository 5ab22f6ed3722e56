import { type CaptureLink, LinkRules } from '@leadgate/contract';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { NIL_UUID, pagesOf } from './statements.ts';
import { removedAmong } from './tombstones.ts';

/** Rows a page: a page is held in memory, and one command of Redis away from the next. */
const PAGE_SIZE = 5_000;

/** What a refill of Redis reads, as `refillAll` and `followDirectory` of intake ask for it. */
export function refillSource(store: Store) {
  return {
    directoryRevision: () => directoryRevision(store),
    linkChanges: (since: number) => linkChanges(store, since),
    workspaceIds: () => workspaceIds(store),
    removedAmong: (workspaceIds: readonly string[]) => removedAmong(store.prisma, workspaceIds),
    links: () => linkEntryPages(store, PAGE_SIZE),
    identities: (workspaceId: string) => identityPages(store, workspaceId),
    highestOrders: (workspaceIds: readonly string[]) => highestOrders(store, workspaceIds),
  };
}

async function workspaceIds(store: Store): Promise<string[]> {
  const rows = await store.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM workspace WHERE id NOT IN (SELECT id FROM removed_workspace) ORDER BY id`;
  return rows.map(({ id }) => id);
}

interface IdentityRow {
  key: string;
  leadId: string;
}

/** Only leads own identities: whoever makes an alias moves its identities in the same transaction. */
const identityPages = (store: Store, workspaceId: string): AsyncGenerator<IdentityRow[]> =>
  pagesOf<IdentityRow>(
    PAGE_SIZE,
    (last) => store.prisma.$queryRaw`
      SELECT key, lead_id AS "leadId" FROM identity
      WHERE workspace_id = ${workspaceId}::uuid
        AND (lead_id, key) > (${last?.leadId ?? NIL_UUID}::uuid, ${last?.key ?? ''})
      ORDER BY lead_id, key LIMIT ${PAGE_SIZE}`,
  );

async function highestOrders(
  store: Store,
  workspaceIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await store.prisma.$queryRaw<{ id: string; order: number }[]>`
    SELECT w.id, greatest(newest."order", kept.highest)::float8 AS "order"
    FROM unnest(${workspaceIds}::uuid[]) AS w (id)
    LEFT JOIN LATERAL (
      SELECT s."order" FROM submission s WHERE s.workspace_id = w.id
      ORDER BY s."order" DESC LIMIT 1
    ) AS newest ON true
    LEFT JOIN order_kept kept ON kept.workspace_id = w.id
    WHERE newest."order" IS NOT NULL OR kept.highest IS NOT NULL`;
  return new Map(rows.map(({ id, order }) => [id, order]));
}

/**
 * Raised by every change of a link, a code or a workspace. What Redis holds of the link directory is
 * behind where its revision is lower.
 */
export async function directoryRevision(store: Store): Promise<number> {
  const [row] = await store.prisma.$queryRaw<{ revision: number }[]>`
    SELECT revision::float8 AS revision FROM directory_revision`;
  if (row === undefined) throw new Error('directory_revision has lost its row');
  return row.revision;
}

interface LinkEntry {
  code: string;
  link: CaptureLink;
}

/** The entries of one link: one a code, closed and expired ones included. */
export function linkEntries(store: Store, linkId: string): Promise<LinkEntry[]> {
  return selectEntries(store, Prisma.sql`WHERE k.link_id = ${linkId}::uuid`);
}

export function workspaceLinkEntries(store: Store, workspaceId: string): Promise<LinkEntry[]> {
  return selectEntries(store, Prisma.sql`WHERE w.id = ${workspaceId}::uuid`);
}

/** Of one answer: more is read by reading all. */
const MOST_CHANGES = 2_000;

/**
 * The entries that changed after a revision; null if they are too many, or `directory_change` does
 * not have that revision: it is too long ago, or of a Postgres that an older dump was restored to since.
 */
async function linkChanges(store: Store, since: number) {
  const rows = await store.prisma.$queryRaw<{ revision: number; codes: string[] | null }[]>`
    SELECT revision::float8 AS revision, codes FROM directory_change
    WHERE revision >= ${since}::bigint ORDER BY revision`;
  const [known, ...changes] = rows;
  if (known?.revision !== since) return null;
  const codes = new Set<string>();
  for (const change of changes) {
    if (change.codes === null || codes.size + change.codes.length > MOST_CHANGES) return null;
    for (const code of change.codes) codes.add(code);
  }
  const found = await selectEntries(store, Prisma.sql`WHERE k.code = ANY(${[...codes]})`);
  const links = new Map(found.map(({ code, link }) => [code, link]));
  return {
    revision: changes.at(-1)?.revision ?? since,
    entries: [...codes].map((code) => ({ code, link: links.get(code) ?? null })),
  };
}

/** Every entry of the link directory by code, closed and expired ones included, page by page. */
export const linkEntryPages = (store: Store, pageSize: number): AsyncGenerator<LinkEntry[]> =>
  pagesOf<LinkEntry>(pageSize, (last) =>
    selectEntries(
      store,
      Prisma.sql`WHERE k.code > ${last?.code ?? ''} ORDER BY k.code LIMIT ${pageSize}`,
    ),
  );

interface EntryRow extends Omit<CaptureLink, 'expiresAt' | 'guard' | 'mapping' | 'proof'> {
  code: string;
  expiresAt: number | null;
  guard: CaptureLink['guard'] | null;
  mapping: CaptureLink['mapping'] | null;
  proof: CaptureLink['proof'] | null;
}

/** The settings that receivers read: columns of their names, in the way of Postgres. */
const RULES = Prisma.raw(
  Object.keys(LinkRules.properties)
    .map(
      (name) => `l.${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)} AS "${name}"`,
    )
    .join(', '),
);

async function selectEntries(store: Store, filter: Prisma.Sql): Promise<LinkEntry[]> {
  const rows = await store.prisma.$queryRaw<EntryRow[]>`
    SELECT k.code, l.id AS "linkId", w.id AS "workspaceId", w.country,
           w.dummy_phones AS "dummyPhones", w.dummy_classes AS "dummyClasses", l.state, l.mapping, l.proof, ${RULES},
           ceil(extract(epoch FROM k.expires_at) * 1000)::float8 AS "expiresAt",
           CASE WHEN coalesce(l.honeypot, l.min_fill_ms::text, l.captcha_url) IS NOT NULL
             THEN jsonb_build_object(
               'honeypot', l.honeypot, 'minFillMs', l.min_fill_ms,
               'captcha', CASE WHEN l.captcha_url IS NOT NULL THEN jsonb_build_object(
                 'verifyUrl', l.captcha_url, 'secret', l.captcha_secret, 'fail', l.captcha_fail)
               END)
           END AS guard,
           (SELECT revision::float8 FROM directory_revision) AS revision
    FROM capture_code k
    JOIN capture_link l ON l.id = k.link_id
    JOIN workspace w ON w.id = l.workspace_id
    ${filter}`;
  return rows.map(({ code, guard, mapping, proof, ...link }) => ({
    code,
    link: {
      ...link,
      ...(mapping && { mapping }),
      ...(proof && { proof }),
      ...(guard && { guard }),
    },
  }));
}
