import {
  ADDRESS_FIELDS,
  type AddressField,
  type CustomField,
  type CustomValue,
  type FieldPath,
  type Lead,
  LEAD_FIELDS,
  type LeadField,
  type Touch,
  UTM_FIELDS,
  type UtmField,
} from '@leadgate/contract';
import {
  type LeadState,
  normalized,
  type Provenance,
  type TouchOfSubmission,
} from '@leadgate/leads';
import { fieldsOfWorkspaces } from './fields.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { isoTime, isUuid, microseconds, NIL_UUID, pagesOf } from './statements.ts';

/** A lead's row, read to be folded. */
export interface LeadRow extends Record<LeadField, string | null> {
  workspaceId: string;
  id: string;
  mergedInto: string | null;
  erasedOrder: number | null;
  telephoneE164: string | null;
  address: Partial<Record<AddressField, string>>;
  provenance: StoredProvenance;
  firstTouch: TouchOfSubmission | null;
  lastTouch: TouchOfSubmission | null;
  creatorId: string | null;
  creatorOrder: number | null;
  customFields: Record<string, CustomValue>;
}

/** The columns of a LeadRow. A birthday as text: a date that no time zone can shift. */
export const leadColumns = Prisma.sql`
  lead.workspace_id AS "workspaceId", lead.id, lead.merged_into AS "mergedInto",
  lead.erased_order::float8 AS "erasedOrder", lead.email, lead.name, lead.telephone,
  lead.telephone_e164 AS "telephoneE164",
  lead.document, lead.profession, lead.city, lead.state, lead.instagram,
  to_char(lead.birthday, 'YYYY-MM-DD') AS birthday, lead.address, lead.provenance,
  lead.first_touch AS "firstTouch", lead.last_touch AS "lastTouch",
  lead.creator_id AS "creatorId", lead.creator_order::float8 AS "creatorOrder",
  lead.custom_fields AS "customFields"`;

/** Whether a row `own` is the lead that any id, the row `asked`, stands for, or an alias of it. */
export const OWN_OF_ASKED = Prisma.sql`own.workspace_id = asked.workspace_id
  AND (own.id = coalesce(asked.merged_into, asked.id)
    OR own.merged_into = coalesce(asked.merged_into, asked.id))`;

/** Every id that stands for the lead that any id does. */
export const idsOfLead = (workspaceId: string, anyId: string): Prisma.Sql => Prisma.sql`
  SELECT own.id FROM lead asked JOIN lead own ON ${OWN_OF_ASKED}
  WHERE asked.workspace_id = ${workspaceId}::uuid AND asked.id = ${anyId}::uuid`;

/** The id of a lead that is no alias, and those of its aliases. */
export const ownIds = ({
  workspaceId,
  id,
}: {
  workspaceId: string;
  id: string;
}): Prisma.Sql => Prisma.sql`
  SELECT id FROM lead WHERE workspace_id = ${workspaceId}::uuid
    AND (id = ${id}::uuid OR merged_into = ${id}::uuid)`;

/** A row of a lead that is none any more holds nothing. What is still under way of it is older than its end. */
export const BLANK_LEAD = Prisma.sql`
  email = NULL, name = NULL, telephone = NULL, telephone_e164 = NULL, document = NULL, profession = NULL,
  city = NULL, state = NULL, instagram = NULL, birthday = NULL, address = DEFAULT, provenance = DEFAULT,
  first_touch = NULL, last_touch = NULL, creator_id = NULL, creator_order = NULL, custom_fields = DEFAULT,
  updated_at = now(), version = version + 1`;

export function readState(row: LeadRow): LeadState {
  const values: LeadState['values'] = {};
  for (const field of LEAD_FIELDS) if (row[field] !== null) values[field] = row[field];
  for (const field of ADDRESS_FIELDS)
    if (row.address[field] !== undefined) values[`address.${field}`] = row.address[field];
  return {
    values,
    provenance: readProvenance(row.provenance),
    telephoneE164: row.telephoneE164,
    firstTouch: row.firstTouch,
    lastTouch: row.lastTouch,
    creator:
      row.creatorId === null || row.creatorOrder === null
        ? null
        : { submissionId: row.creatorId, order: row.creatorOrder },
    customFields: row.customFields,
  };
}

/** The row's columns `address` and `provenance` of a state. */
export function addressColumn({ values }: LeadState): LeadRow['address'] {
  const address: LeadRow['address'] = {};
  for (const field of ADDRESS_FIELDS) {
    const value = values[`address.${field}`];
    if (value !== undefined) address[field] = value;
  }
  return address;
}

export function provenanceColumn({ provenance }: LeadState): LeadRow['provenance'] {
  return storedProvenance(provenance, FIELD_PATHS);
}

const FIELD_PATHS: FieldPath[] = [
  ...LEAD_FIELDS,
  ...ADDRESS_FIELDS.map((field) => `address.${field}` as const),
];

/**
 * Which submissions set the fields of a lead, as its row holds them: each submission once (id, stamp,
 * order) with its fields behind it. By field, as the join has it, the same few ids would stand in a
 * row a dozen times, and be sent, parsed and logged with every lead.
 */
export type StoredProvenance = [
  submissionId: string,
  stamp: number,
  order: number,
  ...paths: FieldPath[],
][];

type ByField = Partial<Record<FieldPath, Provenance>>;

export function readProvenance(stored: StoredProvenance): ByField {
  const byField: ByField = {};
  for (const [submissionId, stamp, order, ...paths] of stored) {
    const provenance = { submissionId, stamp, order };
    for (const path of paths) byField[path] = provenance;
  }
  return byField;
}

/** In the order of `paths`, so that equal provenance is stored equally. */
function storedProvenance(byField: ByField, paths: readonly FieldPath[]): StoredProvenance {
  const submissions = new Map<string, StoredProvenance[number]>();
  for (const path of paths) {
    const provenance = byField[path];
    if (provenance === undefined) continue;
    const { submissionId, stamp, order } = provenance;
    const known = submissions.get(submissionId);
    if (known === undefined) submissions.set(submissionId, [submissionId, stamp, order, path]);
    else known.push(path);
  }
  return [...submissions.values()];
}

/** What is read of a lead and its workspace `w`. */
export const listedColumns = Prisma.sql`
  ${leadColumns}, w.name AS "workspaceName", lead.created_at AS "createdAt",
  lead.updated_at AS "updatedAt"`;

export interface ListedLeadRow extends LeadRow {
  workspaceName: string;
  createdAt: Date;
  updatedAt: Date;
}

/** A lead as operators find it: its fields are named as in a posted body. */
export interface LeadSummary extends Lead {
  leadId: string;
  workspaceId: string;
  workspace: string;
  /** The telephone with its country (E.164), if it is a valid number. */
  telephoneE164?: string;
  /** By the field's name. */
  customFields: Record<string, CustomValue>;
  /** When the lead's first submission was accepted; when its row was made, if it has none. */
  createdAt: string;
  /** When its row last changed. */
  updatedAt: string;
  erased: boolean;
}

/** A lead from its row, with the custom fields of its workspace. UTM marks are the last touch's. */
export function readLeadSummary(row: ListedLeadRow, fields: readonly CustomField[]): LeadSummary {
  const { workspaceName: workspace, erasedOrder } = row;
  return { ...readLead(row, fields), workspace, erased: erasedOrder !== null };
}

/**
 * The same without what only operators are shown. It is read for each send: members one by one, as spreads of that
 * many cost several times as much.
 */
export function readLead(
  row: ListedLeadRow,
  fields: readonly CustomField[],
): Omit<LeadSummary, 'workspace' | 'erased'> {
  const { address, lastTouch, telephoneE164, creatorOrder } = row;
  const ids = { leadId: row.id, workspaceId: row.workspaceId };
  const lead: Lead & typeof ids & { telephoneE164?: string } = ids;
  for (const field of LEAD_FIELDS) {
    const value = row[field];
    if (value !== null) lead[field] = value;
  }
  if (telephoneE164 !== null) lead.telephoneE164 = telephoneE164;
  if (Object.keys(address).length > 0) lead.address = address;
  if (lastTouch !== null) addTouch(lead, lastTouch.values);
  const nameOf = new Map(fields.map(({ id, name }) => [id, name]));
  return Object.assign(lead, {
    customFields: Object.fromEntries(
      Object.entries(row.customFields).map(([id, value]) => [nameOf.get(id) ?? id, value]),
    ),
    createdAt: creatorOrder === null ? row.createdAt.toISOString() : isoTime(creatorOrder),
    updatedAt: row.updatedAt.toISOString(),
  });
}

/** Writes the marks of a touch into what is told of a lead. */
export function addTouch(into: Touch, values: Touch): void {
  for (const field of UTM_FIELDS) {
    const value = values[field];
    if (value !== undefined) into[field] = value;
  }
  if (values.attribution !== undefined) into.attribution = values.attribution;
}

/** What a lead is looked for by. A lead is found when any of it fits. */
export interface LeadSearch {
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
  const rows = await store.prisma.$queryRaw<ListedLeadRow[]>`
    SELECT ${listedColumns}
    FROM (${ids}) AS found
    JOIN lead ON lead.workspace_id = found.workspace_id AND lead.id = found.id
    JOIN workspace w ON w.id = lead.workspace_id
    WHERE ${workspaceId ?? null}::uuid IS NULL OR lead.workspace_id = ${workspaceId ?? null}::uuid
    ORDER BY lead.updated_at DESC, lead.id LIMIT ${limit}`;
  const fields = await fieldsOfWorkspaces(
    store.prisma,
    rows.map((row) => row.workspaceId),
  );
  return rows.map((row) => readLeadSummary(row, fields));
}

function fold(text: string): string {
  return normalized(text, 'NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase();
}

function like(part: string): string {
  return `%${part.replace(/[\\%_]/g, '\\$&')}%`;
}

/** Submissions looked at for every lead asked for: a lead may have sent several. */
const SUBMISSIONS_A_LEAD = 4;

/**
 * The leads of the newest submissions, of one workspace or of all, the newest first. Reads the end
 * of the submission log only, however many leads there are; so there may be fewer than `limit`.
 */
export async function recentLeads(
  store: Store,
  workspaceId: string | undefined,
  limit: number,
): Promise<LeadSummary[]> {
  const wanted = workspaceId ?? null;
  const rows = await store.prisma.$queryRaw<ListedLeadRow[]>`
    WITH newest AS (
      SELECT workspace_id, lead_id, id FROM submission
      WHERE ${wanted}::uuid IS NULL OR workspace_id = ${wanted}::uuid
      ORDER BY id DESC LIMIT ${limit * SUBMISSIONS_A_LEAD}
    ), found AS (
      SELECT a.workspace_id, coalesce(a.merged_into, a.id) AS id, max(newest.id::text) AS last
      FROM newest JOIN lead a ON a.workspace_id = newest.workspace_id AND a.id = newest.lead_id
      GROUP BY 1, 2
    )
    SELECT ${listedColumns}
    FROM found
    JOIN lead ON lead.workspace_id = found.workspace_id AND lead.id = found.id
    JOIN workspace w ON w.id = lead.workspace_id
    ORDER BY found.last DESC LIMIT ${limit}`;
  const fields = await fieldsOfWorkspaces(
    store.prisma,
    rows.map((row) => row.workspaceId),
  );
  return rows.map((row) => readLeadSummary(row, fields));
}

/** Which leads of a workspace are wanted: those that fit all of it. */
export interface LeadFilter {
  workspaceId: string;
  /** Only leads that a submission of this link reached. */
  linkId?: string;
  /** Only leads created at this moment or later. */
  since?: Date;
  /** Only leads created before this moment. */
  until?: Date;
  /** Only leads whose first or last touch has these marks. */
  utm?: Partial<Record<UtmField, string>>;
  /** Only leads of one submission, or only those of more. */
  came?: 'once' | 'again';
  /** Only leads of which a submission has a note with this code. */
  note?: string;
  /** Only leads whose custom field has this value, as text; of several, one of them. */
  field?: { id: string; value: string };
  /** Only leads with a telephone, or only those without. */
  telephone?: boolean;
  /** Only leads with an email, or only those without. */
  email?: boolean;
}

/**
 * The leads of a workspace that fit, by id, page by page in constant memory: without aliases and
 * erased ones. Leads that come in meanwhile may be among them or not.
 */
export async function* exportLeads(
  store: Store,
  filter: LeadFilter,
  { pageSize = 1_000 } = {},
): AsyncGenerator<LeadSummary[]> {
  const fields = await fieldsOfWorkspaces(store.prisma, [filter.workspaceId]);
  const conditions = conditionsOf(filter);
  const pages = pagesOf<ListedLeadRow>(
    pageSize,
    (last) => store.prisma.$queryRaw`
      SELECT ${listedColumns}
      FROM lead JOIN workspace w ON w.id = lead.workspace_id
      WHERE ${Prisma.join(conditions, ' AND ')} AND lead.id > ${last?.id ?? NIL_UUID}::uuid
      ORDER BY lead.id LIMIT ${pageSize}`,
  );
  for await (const rows of pages) yield rows.map((row) => readLeadSummary(row, fields));
}

/** Rows of the index that one statement passes over at most, however few of them fit. */
const ROWS_A_STATEMENT = 20_000;

/** A page of leads, and what to ask for to go on; null at the end. */
export interface LeadPage {
  leads: LeadSummary[];
  next: string | null;
}

const PLACE = /^(\d{1,16})_([0-9a-f-]{36})$/;

/** Whether a text is the `next` of a page. */
export const isLeadPlace = (text: string): boolean => isUuid(PLACE.exec(text)?.[2] ?? '');

/**
 * The leads of a workspace that fit, those stored last first, `limit` a page. A lead keeps its place
 * whatever changes it, so that no page has one of another page. Where few of many fit, a page ends
 * when it has looked for `withinMs`, with fewer, and the next one goes on there.
 */
export async function listLeads(
  store: Store,
  filter: LeadFilter,
  { limit, after, withinMs = 1_500 }: { limit: number; after?: string; withinMs?: number },
): Promise<LeadPage> {
  const fields = await fieldsOfWorkspaces(store.prisma, [filter.workspaceId]);
  const conditions = Prisma.join(conditionsOf(filter), ' AND ');
  const until = Date.now() + withinMs;
  const leads: LeadSummary[] = [];
  let place = readPlace(after);
  do {
    const end = await endOfStretch(store, filter.workspaceId, place);
    const wanted = limit - leads.length;
    const stretch =
      end === null ? Prisma.sql`true` : Prisma.sql`(lead.created_at, lead.id) >= ${pointOf(end)}`;
    const rows = await store.prisma.$queryRaw<(ListedLeadRow & Place)[]>`
      SELECT ${listedColumns}, ${micros}::text AS micros
      FROM lead JOIN workspace w ON w.id = lead.workspace_id
      WHERE ${conditions} AND ${before(place)} AND ${stretch}
      ORDER BY lead.created_at DESC, lead.id DESC LIMIT ${wanted}`;
    leads.push(...rows.map((row) => readLeadSummary(row, fields)));
    const last = rows.at(-1);
    place = last !== undefined && rows.length === wanted ? last : end;
  } while (place !== null && leads.length < limit && Date.now() < until);
  return { leads, next: place && `${place.micros}_${place.id}` };
}

/** A lead in the order of time: when it was stored, in microseconds. */
interface Place {
  micros: string;
  id: string;
}

const micros = Prisma.sql`(extract(epoch FROM lead.created_at) * 1000000)::bigint`;

function readPlace(text: string | undefined): Place | null {
  const [, at = '', id = ''] = PLACE.exec(text ?? '') ?? [];
  return isUuid(id) ? { micros: at, id } : null;
}

/** Leads stored before the one of a place; null: all of them. */
const before = (place: Place | null): Prisma.Sql =>
  place === null ? Prisma.sql`true` : Prisma.sql`(lead.created_at, lead.id) < ${pointOf(place)}`;

const pointOf = ({ micros: at, id }: Place): Prisma.Sql =>
  Prisma.sql`(timestamptz 'epoch' + ${at}::bigint * interval '1 microsecond', ${id}::uuid)`;

/** The last lead that the next statement looks at; null if those that are left are few. */
async function endOfStretch(
  { prisma }: Store,
  workspaceId: string,
  place: Place | null,
): Promise<Place | null> {
  const [end] = await prisma.$queryRaw<Place[]>`
    SELECT ${micros}::text AS micros, lead.id FROM lead
    WHERE lead.workspace_id = ${workspaceId}::uuid AND lead.merged_into IS NULL AND ${before(place)}
    ORDER BY lead.created_at DESC, lead.id DESC OFFSET ${ROWS_A_STATEMENT - 1} LIMIT 1`;
  return end ?? null;
}

function conditionsOf(filter: LeadFilter): Prisma.Sql[] {
  const { workspaceId, linkId, since, until, utm = {}, came, note, field } = filter;
  const created = Prisma.sql`coalesce(lead.creator_order, ${micros})`;
  const filled = (column: Prisma.Sql, wanted: boolean | undefined): Prisma.Sql[] =>
    wanted === undefined ? [] : [Prisma.sql`(${column} IS NOT NULL) = ${wanted}`];
  return [
    Prisma.sql`lead.workspace_id = ${workspaceId}::uuid AND lead.merged_into IS NULL
      AND lead.erased_order IS NULL`,
    ...(since === undefined ? [] : [Prisma.sql`${created} >= ${microseconds(since)}::bigint`]),
    ...(until === undefined ? [] : [Prisma.sql`${created} < ${microseconds(until)}::bigint`]),
    ...(linkId === undefined ? [] : [hasSubmission(Prisma.sql`s.link_id = ${linkId}::uuid`)]),
    ...(note === undefined
      ? []
      : [hasSubmission(Prisma.sql`s.notes @> ${JSON.stringify([{ code: note }])}::jsonb`)]),
    ...(came === undefined
      ? []
      : [
          Prisma.sql`${hasSubmission(Prisma.sql`s.id IS DISTINCT FROM lead.creator_id`)} = ${came === 'again'}`,
        ]),
    ...(field === undefined
      ? []
      : [
          Prisma.sql`(lead.custom_fields->>${field.id}::text = ${field.value}
            OR lead.custom_fields->${field.id}::text @> to_jsonb(${field.value}::text))`,
        ]),
    ...filled(Prisma.sql`lead.telephone`, filter.telephone),
    ...filled(Prisma.sql`lead.email`, filter.email),
    ...Object.entries(utm).map(
      ([mark, value]) => Prisma.sql`(lead.first_touch->'values'->>${mark}::text = ${value}
        OR lead.last_touch->'values'->>${mark}::text = ${value})`,
    ),
  ];
}

/** Whether a submission of the lead, or of an alias of it, fits. */
const hasSubmission = (fits: Prisma.Sql): Prisma.Sql => Prisma.sql`EXISTS (
  SELECT FROM submission s
  WHERE s.workspace_id = lead.workspace_id AND ${fits}
    AND (s.lead_id = lead.id OR s.lead_id IN (
      SELECT alias.id FROM lead alias
      WHERE alias.workspace_id = lead.workspace_id AND alias.merged_into = lead.id)))`;

/** One lead of a pair. */
export interface DuplicateSide {
  leadId: string;
  name: string | null;
  email: string | null;
  telephone: string | null;
}

/** Two leads that one submission named at once: its email is of the one, its phone of the other. */
export interface DuplicatePair {
  workspaceId: string;
  a: DuplicateSide;
  b: DuplicateSide;
  /** When it was first seen: ISO 8601, UTC. */
  since: string;
  /** Its place in the list, to go on after. */
  pair: string;
}

export interface DuplicateFilter {
  workspaceId?: string;
  /** Only pairs of this lead: the id that it has today. */
  leadId?: string;
  /** Only pairs first seen at this moment or later. */
  since?: Date;
  /** Only pairs first seen before this moment. */
  until?: Date;
  /** Only those that come after this one in the list: `pair` of the last of the page before. */
  after?: string;
}

const PAIR = /^(\d{1,16})_([0-9a-f-]{36})_([0-9a-f-]{36})$/;

/** Whether a text is the `pair` of one that may have been listed. */
export const isDuplicatePair = (text: string): boolean => {
  const [, , a = '', b = ''] = PAIR.exec(text) ?? [];
  return isUuid(a) && isUuid(b);
};

/**
 * Pairs that may be one person, newest first, at most `limit`. Those merged since, and those of which
 * one was erased, are no longer among them.
 */
export async function listDuplicates(
  store: Store,
  { workspaceId, leadId, since, until, after }: DuplicateFilter,
  limit: number,
): Promise<DuplicatePair[]> {
  interface Row {
    workspaceId: string;
    a: DuplicateSide;
    b: DuplicateSide;
    since: Date;
    micros: string;
  }
  const [, micros = null, afterA = null, afterB = null] = PAIR.exec(after ?? '') ?? [];
  const rows = await store.prisma.$queryRaw<Row[]>`
    WITH pair AS (
      -- Either side may stand for another lead by now, and two pairs be one.
      SELECT d.workspace_id, least(a.final, b.final) AS a, greatest(a.final, b.final) AS b,
             min(d.created_at) AS since
      FROM possible_duplicate d
      CROSS JOIN LATERAL (SELECT coalesce(max(l.merged_into::text)::uuid, d.lead_a) AS final
        FROM lead l WHERE l.workspace_id = d.workspace_id AND l.id = d.lead_a) a
      CROSS JOIN LATERAL (SELECT coalesce(max(l.merged_into::text)::uuid, d.lead_b) AS final
        FROM lead l WHERE l.workspace_id = d.workspace_id AND l.id = d.lead_b) b
      WHERE (${workspaceId ?? null}::uuid IS NULL OR d.workspace_id = ${workspaceId ?? null}::uuid)
        AND a.final <> b.final
        AND (${leadId ?? null}::uuid IS NULL OR ${leadId ?? null}::uuid IN (a.final, b.final))
      GROUP BY 1, 2, 3
    )
    SELECT pair.workspace_id AS "workspaceId", pair.since,
           (extract(epoch FROM pair.since) * 1000000)::bigint::text AS micros,
           jsonb_build_object('leadId', a.id, 'name', a.name, 'email', a.email,
             'telephone', a.telephone) AS a,
           jsonb_build_object('leadId', b.id, 'name', b.name, 'email', b.email,
             'telephone', b.telephone) AS b
    FROM pair
    JOIN lead a ON a.workspace_id = pair.workspace_id AND a.id = pair.a AND a.erased_order IS NULL
    JOIN lead b ON b.workspace_id = pair.workspace_id AND b.id = pair.b AND b.erased_order IS NULL
    WHERE (${since ?? null}::timestamptz IS NULL OR pair.since >= ${since ?? null}::timestamptz)
      AND (${until ?? null}::timestamptz IS NULL OR pair.since < ${until ?? null}::timestamptz)
      AND (${micros}::bigint IS NULL OR (-(extract(epoch FROM pair.since) * 1000000)::bigint, pair.a, pair.b)
        > (-${micros}::bigint, ${afterA}::uuid, ${afterB}::uuid))
    ORDER BY pair.since DESC, pair.a, pair.b LIMIT ${limit}`;
  return rows.map(({ micros: at, ...row }) => ({
    ...row,
    since: row.since.toISOString(),
    pair: `${at}_${row.a.leadId}_${row.b.leadId}`,
  }));
}
