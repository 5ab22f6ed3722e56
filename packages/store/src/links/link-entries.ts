import { LinkRules, type CaptureLink } from '@leadgate/contract';
import { Prisma } from '../generated/client.ts';
import type { Store } from '../open-store.ts';

/** One entry of the link directory. */
export interface LinkEntry {
  code: string;
  link: CaptureLink;
}

/** The entries of one link: one a code, closed and expired ones included. */
export function linkEntries(store: Store, linkId: string): Promise<LinkEntry[]> {
  return selectEntries(store, Prisma.sql`WHERE k.link_id = ${linkId}::uuid`);
}

/** The entries of every link of a workspace. */
export function workspaceLinkEntries(store: Store, workspaceId: string): Promise<LinkEntry[]> {
  return selectEntries(store, Prisma.sql`WHERE w.id = ${workspaceId}::uuid`);
}

/** Every entry of the link directory by code, closed and expired ones included, page by page. */
export async function* linkEntryPages(store: Store, pageSize: number): AsyncGenerator<LinkEntry[]> {
  let after = '';
  for (;;) {
    const page = await selectEntries(
      store,
      Prisma.sql`WHERE k.code > ${after} ORDER BY k.code LIMIT ${pageSize}`,
    );
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = last.code;
  }
}

interface EntryRow extends Omit<CaptureLink, 'expiresAt' | 'guard'> {
  code: string;
  expiresAt: number | null;
  guard: CaptureLink['guard'] | null;
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
           w.dummy_phones AS "dummyPhones", w.dummy_classes AS "dummyClasses", l.state, ${RULES},
           ceil(extract(epoch FROM k.expires_at) * 1000)::float8 AS "expiresAt",
           CASE WHEN coalesce(l.honeypot, l.min_fill_ms::text, l.captcha_url) IS NOT NULL
             THEN jsonb_build_object(
               'honeypot', l.honeypot, 'minFillMs', l.min_fill_ms,
               'captcha', CASE WHEN l.captcha_url IS NOT NULL THEN jsonb_build_object(
                 'verifyUrl', l.captcha_url, 'secret', l.captcha_secret, 'fail', l.captcha_fail)
               END)
           END AS guard
    FROM capture_code k
    JOIN capture_link l ON l.id = k.link_id
    JOIN workspace w ON w.id = l.workspace_id
    ${filter}`;
  return rows.map(({ code, guard, ...link }) => ({
    code,
    link: { ...link, ...(guard && { guard }) },
  }));
}
