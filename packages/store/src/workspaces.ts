import type { FieldError, PhoneClass } from '@leadgate/contract';
import { randomUUID } from 'node:crypto';
import { isUniqueViolation } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { displayText, nameErrors } from './text.ts';

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
export type WorkspaceChanges = Partial<
  Pick<Workspace, 'dummyPhones' | 'dummyClasses' | 'timeZone'>
>;

export type WorkspaceCreation =
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

/** Every workspace, by name. */
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
