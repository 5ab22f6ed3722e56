import { Prisma } from '../generated/client.ts';
import type { Store } from '../open-store.ts';
import { leadColumns, readLeadSummary, type LeadRow, type LeadSummary } from './lead-row.ts';
import { fieldsOfWorkspaces } from './fields-of-workspaces.ts';

/** What a lead is looked for by. A lead is found when any of it fits. */
export interface LeadSearch {
  /** Only in this workspace. */
  workspaceId?: string;
  /** An id of the lead, an alias included. */
  leadId?: string;
  /** Identity keys (`email:…`, `phone:…`), each under its workspace. */
  identities?: { workspaceId: string; key: string }[];
  /** The whole email, as stored. */
  email?: string;
  /** The whole telephone: digits, as stored. */
  telephone?: string;
  /** Words in any order, each a part of the name; case and accents do not matter. */
  name?: string;
  /** A part of the email. */
  emailPart?: string;
  /** A part of the telephone: digits. */
  telephonePart?: string;
}

/**
 * The leads that fit, those changed last first, at most `limit`. Ids and identities are looked up
 * by index; only when they find nothing are the other criteria tried, by reading the leads.
 */
export async function findLeads(
  store: Store,
  search: LeadSearch,
  limit: number,
): Promise<LeadSummary[]> {
  const known = await selectLeads(store, search, knownIds(search), limit);
  return known.length > 0 ? known : selectLeads(store, search, fittingIds(search), limit);
}

/** Ids of leads by id and by identity, aliases followed. */
function knownIds({ leadId, identities = [] }: LeadSearch): Prisma.Sql {
  return Prisma.sql`
    SELECT l.workspace_id, coalesce(l.merged_into, l.id) AS id
    FROM workspace w JOIN lead l ON l.workspace_id = w.id AND l.id = ${leadId ?? null}::uuid
    UNION
    SELECT l.workspace_id, coalesce(l.merged_into, l.id)
    FROM unnest(${identities.map((i) => i.workspaceId)}::uuid[], ${identities.map((i) => i.key)}::text[])
      AS asked (workspace_id, key)
    JOIN identity i ON i.workspace_id = asked.workspace_id AND i.key = asked.key
    JOIN lead l ON l.workspace_id = i.workspace_id AND l.id = i.lead_id`;
}

/** Ids of leads whose fields fit. */
function fittingIds(search: LeadSearch): Prisma.Sql {
  const words = search.name === undefined ? [] : fold(search.name).split(/\s+/).filter(Boolean);
  const conditions = [
    ...(search.email === undefined ? [] : [Prisma.sql`email = ${search.email}`]),
    ...(search.telephone === undefined ? [] : [Prisma.sql`telephone = ${search.telephone}`]),
    ...(search.emailPart === undefined
      ? []
      : [Prisma.sql`email LIKE ${like(search.emailPart.toLowerCase())}`]),
    ...(search.telephonePart === undefined
      ? []
      : [Prisma.sql`telephone LIKE ${like(search.telephonePart)}`]),
    ...(words.length === 0
      ? []
      : [
          // Folded as `fold` does it. Marks go before lower(), which knows ASCII only in the C locale.
          Prisma.sql`lower(regexp_replace(normalize(name, NFD), '[\\u0300-\\u036f]', '', 'g'))
                     LIKE ALL (${words.map(like)}::text[])`,
        ]),
  ];
  if (conditions.length === 0)
    return Prisma.sql`SELECT NULL::uuid AS workspace_id, NULL::uuid AS id`;
  return Prisma.sql`
    SELECT workspace_id, id FROM lead
    WHERE merged_into IS NULL AND (${Prisma.join(conditions, ' OR ')})`;
}

async function selectLeads(
  store: Store,
  { workspaceId }: LeadSearch,
  ids: Prisma.Sql,
  limit: number,
): Promise<LeadSummary[]> {
  const rows = await store.prisma.$queryRaw<LeadRow[]>`
    SELECT ${leadColumns}
    FROM (${ids}) AS found
    JOIN lead l ON l.workspace_id = found.workspace_id AND l.id = found.id
    JOIN workspace w ON w.id = l.workspace_id
    WHERE ${workspaceId ?? null}::uuid IS NULL OR l.workspace_id = ${workspaceId ?? null}::uuid
    ORDER BY l.updated_at DESC, l.id LIMIT ${limit}`;
  const fields = await fieldsOfWorkspaces(
    store,
    rows.map((row) => row.workspaceId),
  );
  return rows.map((row) => readLeadSummary(row, fields));
}

function fold(text: string): string {
  return text
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase();
}

function like(part: string): string {
  return `%${part.replace(/[\\%_]/g, '\\$&')}%`;
}
