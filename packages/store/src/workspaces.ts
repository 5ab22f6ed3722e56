import type { FieldError, PhoneClass } from '@leadgate/contract';
import { randomUUID } from 'node:crypto';
import { isUniqueViolation, withoutValues } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import { insertOfTallies, type Tally } from './ledger.ts';
import type { Store } from './open-store.ts';
import { listPartitions } from './retention.ts';
import { deleteInBatches, displayText, nameErrors, transact } from './statements.ts';

/** A tenant: it owns capture links, custom fields and leads. */
export interface Workspace {
  id: string;
  /** Unique. */
  name: string;
  /** ISO 3166-1 alpha-2, upper case: the country of phone numbers without a country code. */
  country: string;
  /** Phones (E.164) that identify nobody. */
  dummyPhones: string[];
  /** Classes of phones that identify nobody. */
  dummyClasses: PhoneClass[];
  /** IANA: of times that do not say their zone. */
  timeZone: string;
  /** Its people are invented: it is being filled (`begun`), or is (`full`). */
  demo: 'begun' | 'full' | null;
  createdAt: Date;
}

export type NewWorkspace = Pick<Workspace, 'name' | 'country' | 'dummyPhones'> &
  Partial<Pick<Workspace, 'demo'>>;
type WorkspaceChanges = Partial<Pick<Workspace, 'dummyPhones' | 'dummyClasses' | 'timeZone'>>;

type WorkspaceCreation =
  | { kind: 'created'; workspace: Workspace }
  | { kind: 'name-taken'; name: string }
  | { kind: 'invalid'; errors: FieldError[] };

/**
 * Creates a workspace. Its marker in Redis is the caller's to set (`openWorkspace` of intake); the
 * worker sets it where the caller could not.
 */
export async function createWorkspace(
  store: Store,
  input: NewWorkspace,
): Promise<WorkspaceCreation> {
  const name = displayText(input.name);
  const errors = nameErrors(name);
  // Its tables are large, and loaded only when a workspace is made.
  const { isPhoneCountry } = await import('@leadgate/leads');
  if (!isPhoneCountry(input.country))
    errors.push({
      pointer: '/country',
      code: 'unknown-country',
      detail:
        'The country is not a two-letter code (ISO 3166-1) whose phone numbers are known, such as BR.',
    });
  if (errors.length > 0) return { kind: 'invalid', errors };
  try {
    const { country, dummyPhones, demo = null } = input;
    const row = await store.prisma.workspace.create({
      data: { id: randomUUID(), name, country, dummyPhones, demo, timeZone: usualZone(country) },
    });
    return { kind: 'created', workspace: readWorkspace(row) };
  } catch (error) {
    if (isUniqueViolation(error)) return { kind: 'name-taken', name };
    throw error;
  }
}

/** Most people of a country live in it; nothing is guessed for countries other than the default one. */
const usualZone = (country: string): string => (country === 'BR' ? 'America/Sao_Paulo' : 'UTC');

export async function listWorkspaces(store: Store): Promise<Workspace[]> {
  return selectWorkspaces(store, Prisma.sql`true`);
}

export async function findWorkspace(store: Store, id: string): Promise<Workspace | null> {
  const [found] = await selectWorkspaces(store, Prisma.sql`id = ${id}::uuid`);
  return found ?? null;
}

/** In SQL: what every command asks first is not worth loading Prisma's compiler of queries. */
function selectWorkspaces(store: Store, condition: Prisma.Sql): Promise<Workspace[]> {
  return store.prisma.$queryRaw<Workspace[]>`
    SELECT id, name, country, dummy_phones AS "dummyPhones", dummy_classes AS "dummyClasses",
           time_zone AS "timeZone", demo, created_at AS "createdAt"
    FROM workspace WHERE ${condition} ORDER BY name`;
}

/**
 * Changes a workspace; null if there is none. The entries of its links in Redis are the caller's to
 * put; if they cannot be put, the directory's revision is behind and the worker refills it.
 */
export async function updateWorkspace(
  store: Store,
  id: string,
  data: WorkspaceChanges,
): Promise<Workspace | null> {
  const [row] = await store.prisma.workspace.updateManyAndReturn({ where: { id }, data });
  return row === undefined ? null : readWorkspace(row);
}

function readWorkspace(
  row: Omit<Workspace, 'dummyClasses' | 'demo'> & { dummyClasses: string[]; demo: string | null },
): Workspace {
  // The table holds no others: it has checks.
  const { dummyClasses, demo } = row as Pick<Workspace, 'dummyClasses' | 'demo'>;
  return { ...row, dummyClasses, demo };
}

/** What belongs to a workspace, and its table. */
const TABLES = {
  link: 'capture_link',
  field: 'custom_field',
  lead: 'lead',
  submission: 'submission',
  held: 'held_submission',
  rejected: 'rejected_submission',
  endpoint: 'endpoint',
  run: 'run',
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

/** How many of a workspace's latest submissions have a telephone that may be nobody's. */
export interface DoubtfulPhones {
  workspace: string;
  dummyClasses: PhoneClass[];
  /** By class, and of leads with the emails of several people. */
  repeated: number;
  impossible: number;
  shared: number;
}

const WORKSPACES_LOOKED_AT = 1_000;

/** Counts notes on telephones among the last 200 submissions of each workspace, of 1,000 at most. */
export async function doubtfulPhones(store: Store): Promise<DoubtfulPhones[]> {
  const has = (code: string, detail: string) =>
    Prisma.sql`count(*) FILTER (WHERE note->>'code' = ${code}
      AND coalesce(note->>'detail', '') LIKE ${`%${detail}%`})::int`;
  return store.prisma.$queryRaw<DoubtfulPhones[]>`
    SELECT w.name AS workspace, w.dummy_classes AS "dummyClasses",
           ${has('placeholder-phone', 'repeated')} AS repeated,
           ${has('placeholder-phone', 'impossible')} AS impossible,
           ${has('shared-phone', '')} AS shared
    FROM (SELECT * FROM workspace ORDER BY created_at DESC LIMIT ${WORKSPACES_LOOKED_AT}) AS w
    CROSS JOIN LATERAL (
      SELECT notes FROM submission s WHERE s.workspace_id = w.id
      ORDER BY s."order" DESC LIMIT 200) AS latest
    CROSS JOIN LATERAL jsonb_array_elements(latest.notes) AS note
    WHERE note->>'code' IN ('placeholder-phone', 'shared-phone')
    GROUP BY w.id, w.name, w.dummy_classes ORDER BY w.name`;
}

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
  ['tally_group', own],
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
  ...(['discarded_submission', 'tally', 'tally_group', 'alarm', 'delivery_attempt'] as const),
];

const PARTITIONED = ['submission', 'rejected_submission'] as const;

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
    for (const table of ['tally', 'tally_group']) await removeRows(store, table, own(workspaceId));
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

/** The workspaces whose people are invented, and whether there ever was another one. */
export async function findDemo({
  prisma,
}: Store): Promise<{ demo: string | null; fresh: boolean }> {
  const [found] = await prisma.$queryRaw<[{ demo: string | null; fresh: boolean }]>`
    SELECT (SELECT id FROM workspace WHERE demo IS NOT NULL ORDER BY created_at LIMIT 1) AS demo,
      NOT EXISTS (SELECT FROM workspace) AND NOT EXISTS (SELECT FROM removed_workspace) AS fresh`;
  return found;
}

/** Counts posts at moments of the past. Rejects with a StoreError. */
export async function countPast({ prisma }: Store, tallies: readonly Tally[]): Promise<void> {
  if (tallies.length === 0) return;
  try {
    await prisma.$executeRaw`${insertOfTallies(tallies)}`;
  } catch (error) {
    throw withoutValues(error);
  }
}

/** How long the endpoint of a demo that answers nothing has done so: an alarm tells of it. */
const FAILING_HOURS = 40;

/**
 * Ends the filling of a demo: its rows are from when their posts came, and not from when they were made. Rejects
 * with a StoreError.
 */
export async function endDemo(
  { prisma }: Store,
  workspaceId: string,
  failingEndpointId: string | null,
): Promise<void> {
  const id = workspaceId;
  try {
    await prisma.$transaction(async (tx) => {
      await tx.$executeRaw`
        UPDATE submission SET applied_at = to_timestamp("order" / 1e6) + interval '30 ms'
        WHERE workspace_id = ${id}::uuid`;
      await tx.$executeRaw`
        UPDATE lead SET created_at = to_timestamp(sent.first / 1e6),
          updated_at = to_timestamp(sent.last / 1e6)
        FROM (SELECT lead_id, min("order") AS first, max("order") AS last FROM submission
              WHERE workspace_id = ${id}::uuid GROUP BY lead_id) AS sent
        WHERE workspace_id = ${id}::uuid AND lead.id = sent.lead_id`;
      await tx.$executeRaw`
        UPDATE identity SET created_at = lead.created_at FROM lead
        WHERE identity.workspace_id = ${id}::uuid AND lead.workspace_id = ${id}::uuid
          AND lead.id = identity.lead_id`;
      await tx.$executeRaw`
        UPDATE possible_duplicate d SET created_at = greatest(a.created_at, b.created_at)
        FROM lead a, lead b WHERE d.workspace_id = ${id}::uuid
          AND a.workspace_id = ${id}::uuid AND a.id = d.lead_a
          AND b.workspace_id = ${id}::uuid AND b.id = d.lead_b`;
      await tx.$executeRaw`
        UPDATE rejected_submission SET created_at = to_timestamp(stamp / 1e6)
        WHERE workspace_id = ${id}::uuid`;
      await tx.$executeRaw`
        UPDATE held_submission SET created_at = to_timestamp((content->>'stamp')::float8 / 1e6)
        WHERE workspace_id = ${id}::uuid`;
      await tx.$executeRaw`
        UPDATE endpoint SET failing_since = now() - make_interval(hours => ${FAILING_HOURS})
        WHERE id = ${failingEndpointId}::uuid`;
      for (const table of ['capture_link', 'custom_field', 'endpoint'])
        await tx.$executeRaw`
          UPDATE ${Prisma.raw(table)} SET created_at = created_at - interval '15 days'
          WHERE workspace_id = ${id}::uuid`;
      await tx.$executeRaw`
        UPDATE capture_code SET created_at = created_at - interval '15 days'
        WHERE link_id IN (SELECT id FROM capture_link WHERE workspace_id = ${id}::uuid)`;
      await tx.$executeRaw`UPDATE workspace SET demo = 'full' WHERE id = ${id}::uuid`;
    });
  } catch (error) {
    throw withoutValues(error);
  }
}
