import type { Keyring } from '@leadgate/boot';
import type { EndpointEvent, FieldError } from '@leadgate/contract';
import { randomUUID } from 'node:crypto';
import { DELIVERIES_CHANNEL } from './apply/lead-rows.ts';
import type { DeliveryTry } from './deliveries.ts';
import { isUniqueViolation } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { deleteInBatches, displayText, nameErrors } from './statements.ts';

/** An address that is told of changed leads, as operators see it. */
export interface Endpoint {
  id: string;
  workspaceId: string;
  workspaceName: string;
  /** Unique in the workspace. */
  name: string;
  /** What sends to it. */
  kind: string;
  url: string;
  /** By the destination's name of a field, queries over the lead; null: those of its kind. */
  mapping: Record<string, string[]> | null;
  /** Names of the headers that are sent with it; their values are not shown. */
  headers: string[];
  events: EndpointEvent[];
  /** It is told of leads that came by one of these; none: by any link. */
  linkIds: string[];
  /** Sends a second; null: no limit. */
  perSecond: number | null;
  /** Sends under way at once. */
  concurrency: number;
  /** `paused`: an operator's word. `disabled`: it failed for days, or said that it is gone. */
  state: 'active' | 'paused' | 'disabled';
  /** Why it is disabled. */
  reason: string | null;
  /** When it began to fail, if its last delivery did. */
  failingSince: Date | null;
  /** When it last took a delivery. */
  deliveredAt: Date | null;
  /** Until when messages are signed with the secret before a rotation too. */
  oldSecretUntil: Date | null;
  createdAt: Date;
}

/** What operators say of an endpoint. */
export interface EndpointSettings extends Pick<
  Endpoint,
  'name' | 'url' | 'mapping' | 'events' | 'linkIds' | 'perSecond' | 'concurrency'
> {
  /** Values by name. */
  headers: Record<string, string>;
}

/** `token`: what a destination that is no webhook is called with. */
type EndpointChanges = Partial<EndpointSettings> & { token?: string };

type EndpointChange =
  | { kind: 'done'; endpoint: Endpoint }
  | { kind: 'unknown' }
  | { kind: 'name-taken'; name: string }
  | { kind: 'invalid'; errors: FieldError[] };

/** Creates an active endpoint: it is told of what changes from now on. `unknown`: there is no such workspace. */
export async function createEndpoint(
  store: Store,
  workspaceId: string,
  settings: EndpointSettings,
  { kind = 'webhook', secret, keyring }: { kind?: string; secret: string; keyring: Keyring },
): Promise<EndpointChange> {
  const errors = await settingErrors(store, workspaceId, settings);
  if (errors.length > 0) return { kind: 'invalid', errors };
  if ((await store.prisma.workspace.count({ where: { id: workspaceId } })) === 0)
    return { kind: 'unknown' };
  return keepName(settings.name, async () => {
    const id = randomUUID();
    await store.prisma.endpoint.create({
      data: {
        ...{ id, workspaceId },
        ...columnsOf(settings, keyring),
        ...{ kind, secret: keyring.seal(secret) },
        concurrency: settings.concurrency,
        name: displayText(settings.name),
        url: settings.url,
        events: settings.events,
      },
    });
    return found(await findEndpoint(store, id));
  });
}

/** Changes what is named, at once; what is left out stays. */
export async function updateEndpoint(
  store: Store,
  id: string,
  changes: EndpointChanges,
  keyring: Keyring | null,
): Promise<EndpointChange> {
  const known = await store.prisma.endpoint.findUnique({ where: { id } });
  if (known === null) return { kind: 'unknown' };
  const errors = await settingErrors(store, known.workspaceId, changes);
  if (errors.length > 0) return { kind: 'invalid', errors };
  return keepName(changes.name ?? known.name, async () => {
    const data = columnsOf(changes, keyring);
    const { count } = await store.prisma.endpoint.updateMany({ where: { id }, data });
    return count === 0 ? { kind: 'unknown' } : found(await findEndpoint(store, id));
  });
}

async function keepName(
  name: string,
  write: () => Promise<EndpointChange>,
): Promise<EndpointChange> {
  try {
    return await write();
  } catch (error) {
    if (isUniqueViolation(error)) return { kind: 'name-taken', name: displayText(name) };
    throw error;
  }
}

const found = (endpoint: Endpoint | null): EndpointChange =>
  endpoint === null ? { kind: 'unknown' } : { kind: 'done', endpoint };

/** `keyring`: null if no headers and no token are named. */
function columnsOf(
  { headers, name, mapping, token, ...settings }: EndpointChanges,
  keyring: Keyring | null,
): Partial<Omit<Prisma.EndpointUncheckedCreateInput, 'id' | 'workspaceId'>> {
  const names = Object.keys(headers ?? {});
  const sealed =
    names.length === 0 || keyring === null ? null : keyring.seal(JSON.stringify(headers));
  return {
    ...settings,
    ...(mapping !== undefined && { mapping: mapping ?? Prisma.DbNull }),
    ...(name !== undefined && { name: displayText(name) }),
    ...(headers !== undefined && { headers: sealed, headerNames: names }),
    ...(token !== undefined && keyring !== null && { secret: keyring.seal(token) }),
  };
}

async function settingErrors(
  store: Store,
  workspaceId: string,
  { name, linkIds = [] }: Partial<EndpointSettings>,
): Promise<FieldError[]> {
  const errors = name === undefined ? [] : nameErrors(displayText(name));
  const where = { workspaceId, id: { in: linkIds } };
  const known =
    linkIds.length === 0
      ? []
      : await store.prisma.captureLink.findMany({ where, select: { id: true } });
  const ids = new Set(known.map(({ id }) => id));
  for (const [at, id] of linkIds.entries())
    if (!ids.has(id.toLowerCase()))
      errors.push({
        pointer: `/linkIds/${at}`,
        code: 'unknown-link',
        detail: `The workspace has no link ${id}.`,
      });
  return errors;
}

/** The endpoints of a workspace, or of all, by name. */
export function listEndpoints(store: Store, workspaceId?: string): Promise<Endpoint[]> {
  const all = workspaceId === undefined;
  return selectEndpoints(
    store,
    all ? Prisma.sql`true` : Prisma.sql`e.workspace_id = ${workspaceId}::uuid`,
  );
}

export async function findEndpoint(store: Store, id: string): Promise<Endpoint | null> {
  const [found] = await selectEndpoints(store, Prisma.sql`e.id = ${id}::uuid`);
  return found ?? null;
}

/** In SQL: what only looks is not worth loading Prisma's compiler of queries. Secrets and values of headers stay behind. */
function selectEndpoints(store: Store, condition: Prisma.Sql): Promise<Endpoint[]> {
  return store.prisma.$queryRaw<Endpoint[]>`
    SELECT e.id, e.workspace_id AS "workspaceId", w.name AS "workspaceName", e.name, e.kind, e.url, e.mapping,
      e.header_names AS headers, e.events, e.state, e.link_ids AS "linkIds", e.per_second AS "perSecond",
      e.concurrency, e.reason, e.failing_since AS "failingSince", e.delivered_at AS "deliveredAt",
      CASE WHEN e.old_secret_until > now() THEN e.old_secret_until END AS "oldSecretUntil",
      e.created_at AS "createdAt"
    FROM endpoint e JOIN workspace w ON w.id = e.workspace_id WHERE ${condition} ORDER BY e.name, e.id`;
}

/**
 * Holds its deliveries back, or sends them again: what has waited is due at once, and what was said of its
 * failures is forgotten. Null if there is none.
 */
export async function setEndpointState(
  store: Store,
  id: string,
  state: 'active' | 'paused',
): Promise<Endpoint | null> {
  await store.prisma.$transaction(async (tx) => {
    if (state === 'paused') {
      await tx.endpoint.updateMany({ where: { id, state: 'active' }, data: { state } });
      return;
    }
    const fresh = { state, reason: null, failures: 0, failingSince: null, quietUntil: null };
    const { count } = await tx.endpoint.updateMany({
      where: { id, state: { not: 'active' } },
      data: fresh,
    });
    if (count > 0) await wake(tx);
  });
  if (state === 'active') await hasten(store, id);
  return findEndpoint(store, id);
}

const HASTENED_AT_ONCE = 5_000;

/**
 * What failed is due now, and since when it failed is forgotten: the endpoint took nothing while it was paused or
 * disabled. In steps, so that group commits do not wait long.
 */
async function hasten(store: Store, id: string): Promise<void> {
  for (;;) {
    const [{ hastened }] = await store.prisma.$queryRaw<[{ hastened: number }]>`
      WITH late AS (
        SELECT lead_id FROM delivery
        WHERE endpoint_id = ${id}::uuid AND due_at IS NOT NULL AND attempts > 0
          AND (due_at > now() OR failing_since IS NOT NULL)
        ORDER BY lead_id LIMIT ${HASTENED_AT_ONCE}::int FOR UPDATE
      ), hastened AS (
        UPDATE delivery d SET due_at = least(d.due_at, now()), failing_since = NULL FROM late
        WHERE d.endpoint_id = ${id}::uuid AND d.lead_id = late.lead_id RETURNING 1
      )
      SELECT count(*)::float8 AS hastened,
        (SELECT count(pg_notify(${DELIVERIES_CHANNEL}, '')) FROM (SELECT FROM hastened LIMIT 1) AS one)
          ::float8 AS told
      FROM hastened`;
    if (hastened < HASTENED_AT_ONCE) return;
  }
}

/** Signs with a new secret, and with the one before it for so long. Null if there is none. */
export async function rotateEndpointSecret(
  store: Store,
  id: string,
  { secret, keyring, overlapSeconds }: { secret: string; keyring: Keyring; overlapSeconds: number },
): Promise<Endpoint | null> {
  await store.prisma.$executeRaw`
    UPDATE endpoint SET old_secret = secret, secret = ${keyring.seal(secret)},
      old_secret_until = now() + make_interval(secs => ${overlapSeconds}::float8)
    WHERE id = ${id}::uuid`;
  return findEndpoint(store, id);
}

/** Asks for a test, which a deliverer sends, whatever the endpoint's state. False if there is no endpoint. */
export async function askEndpointTest(store: Store, id: string, testId: string): Promise<boolean> {
  return store.prisma.$transaction(async (tx) => {
    const { count } = await tx.endpoint.updateMany({ where: { id }, data: { testId } });
    await wake(tx);
    return count > 0;
  });
}

/** Removes an endpoint with all that waits for it. False if there is none. */
export async function removeEndpoint(store: Store, id: string): Promise<boolean> {
  const { count } = await store.prisma.endpoint.deleteMany({ where: { id } });
  await deleteInBatches(
    (limit) => store.prisma.$executeRaw`
      DELETE FROM delivery WHERE endpoint_id = ${id}::uuid AND lead_id IN (
        SELECT lead_id FROM delivery WHERE endpoint_id = ${id}::uuid LIMIT ${limit}::int)`,
  );
  return count > 0;
}

/** Tells deliverers to look, once the transaction is committed. */
async function wake(tx: Prisma.TransactionClient): Promise<void> {
  await tx.$executeRaw`SELECT pg_notify(${DELIVERIES_CHANNEL}, '')`;
}

/** Which deliveries are listed. `waiting`: those that fail too. */
export const DELIVERY_STATES = ['waiting', 'failing', 'set-aside', 'delivered'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** How an endpoint stands with a lead, or with an alarm. */
export interface ListedDelivery {
  /** Null: it is of an alarm. */
  leadId: string | null;
  alarmId: string | null;
  state: DeliveryState;
  event: EndpointEvent;
  /** The last version that it was told; 0: none. */
  deliveredVersion: number;
  deliveredAt: Date | null;
  /** When it is sent next; null: nothing waits. */
  dueAt: Date | null;
  /** Failures since the last success, and when the first of them was. */
  attempts: number;
  failingSince: Date | null;
  /** Since when it is not tried any more. */
  setAsideAt: Date | null;
  /** What the destination calls the lead: what it said, each once. */
  remoteIds: string[];
}

const STATE = Prisma.sql`
  CASE WHEN failed_at IS NOT NULL THEN 'set-aside' WHEN due_at IS NULL THEN 'delivered'
       WHEN attempts > 0 THEN 'failing' ELSE 'waiting' END`;

const OF = Prisma.sql`
  CASE WHEN event NOT LIKE 'alarm.%' THEN lead_id END AS "leadId",
  CASE WHEN event LIKE 'alarm.%' THEN lead_id END AS "alarmId"`;

/** As their indexes have them. */
const IN_STATE: Record<DeliveryState, Prisma.Sql> = {
  waiting: Prisma.sql`due_at IS NOT NULL`,
  failing: Prisma.sql`due_at IS NOT NULL AND attempts > 0`,
  'set-aside': Prisma.sql`failed_at IS NOT NULL`,
  delivered: Prisma.sql`due_at IS NULL AND failed_at IS NULL`,
};

/**
 * What an endpoint is, and was, to be told, by lead or alarm. `leadId`: of either. `after`: the one that ended the
 * page before.
 */
export async function listDeliveries(
  store: Store,
  endpointId: string,
  {
    state,
    leadId,
    after,
    limit,
  }: { state?: DeliveryState; leadId?: string; after?: string; limit: number },
): Promise<ListedDelivery[]> {
  const fits = [
    Prisma.sql`endpoint_id = ${endpointId}::uuid`,
    ...(state === undefined ? [] : [IN_STATE[state]]),
    ...(leadId === undefined ? [] : [Prisma.sql`lead_id = ${leadId}::uuid`]),
    ...(after === undefined ? [] : [Prisma.sql`lead_id > ${after}::uuid`]),
  ];
  return store.prisma.$queryRaw<ListedDelivery[]>`
    SELECT ${OF}, ${STATE} AS state, event, delivered_version AS "deliveredVersion",
      delivered_at AS "deliveredAt", due_at AS "dueAt", attempts, failing_since AS "failingSince",
      failed_at AS "setAsideAt",
      -- Of an erased lead there are emails until they are erased.
      ARRAY(SELECT name FROM unnest(remote_ids) AS name WHERE name NOT LIKE '%@%') AS "remoteIds"
    FROM delivery WHERE ${Prisma.join(fits, ' AND ')}
    ORDER BY lead_id LIMIT ${limit}::int`;
}

/** A try as the log shows it. */
interface LoggedTry extends DeliveryTry {
  id: string;
  at: Date;
  /** What it was of instead of a lead. */
  alarmId: string | null;
}

/** The tries of an endpoint, newest first. `leadId`: of a lead or an alarm. `before`: the id that ended the page before. */
export async function listTries(
  store: Store,
  endpointId: string,
  {
    leadId,
    failed = false,
    before,
    limit,
  }: { leadId?: string; failed?: boolean; before?: string; limit: number },
): Promise<LoggedTry[]> {
  const rows = await store.prisma.deliveryAttempt.findMany({
    where: {
      endpointId,
      ...(leadId !== undefined && { leadId }),
      ...(failed && { outcome: { notIn: ['delivered', 'skipped'] } }),
      ...(before !== undefined && { id: { lt: BigInt(before) } }),
    },
    omit: { endpointId: true },
    orderBy: { id: 'desc' },
    take: limit,
  });
  return rows.map(({ id, event, outcome, leadId: of, ...row }) => ({
    ...row,
    id: String(id),
    ...(event.startsWith('alarm.') ? { leadId: null, alarmId: of } : { leadId: of, alarmId: null }),
    // The table's checks allow these only.
    event: event as DeliveryTry['event'],
    outcome: outcome as DeliveryTry['outcome'],
  }));
}

interface EndpointBacklog {
  waiting: number;
  setAside: number;
  /** How long the one has waited that is due longest. Seconds. */
  oldestSeconds: number;
}

export async function endpointBacklog(store: Store, endpointId: string): Promise<EndpointBacklog> {
  const [row] = await store.prisma.$queryRaw<[EndpointBacklog]>`
    SELECT
      (SELECT count(*) FROM delivery
       WHERE endpoint_id = ${endpointId}::uuid AND due_at IS NOT NULL)::float8 AS waiting,
      (SELECT count(*) FROM delivery
       WHERE endpoint_id = ${endpointId}::uuid AND failed_at IS NOT NULL)::float8 AS "setAside",
      coalesce(greatest(extract(epoch FROM clock_timestamp() - (
        SELECT min(due_at) FROM delivery
        WHERE endpoint_id = ${endpointId}::uuid AND due_at IS NOT NULL)), 0), 0)::float8
        AS "oldestSeconds"`;
  return row;
}

/** A count of all that waits may look at millions of rows, with every scrape: from here on it is `that many`. */
const COUNTED_TO = 100_000;

/** How deliveries stand, for monitoring. `waiting` and `setAside` are counted as far as told. */
export interface DeliveryFigures {
  waiting: number;
  /** How long the one has waited that is due longest, of endpoints that are sent to. Seconds. */
  oldestSeconds: number;
  setAside: number;
  active: number;
  paused: number;
  disabled: number;
  /** Milliseconds since the last success of each active endpoint that fails. */
  failingMs: number[];
}

export async function deliveryFigures(
  store: Store,
  countedTo = COUNTED_TO,
): Promise<DeliveryFigures> {
  const [row] = await store.prisma.$queryRaw<[DeliveryFigures]>`
    SELECT
      (SELECT count(*) FROM (SELECT FROM delivery WHERE due_at IS NOT NULL
                             LIMIT ${countedTo}::int) AS counted)::float8 AS waiting,
      (SELECT count(*) FROM (SELECT FROM delivery WHERE failed_at IS NOT NULL
                             LIMIT ${countedTo}::int) AS counted)::float8 AS "setAside",
      greatest(extract(epoch FROM clock_timestamp() - min(due.at)), 0)::float8 AS "oldestSeconds",
      count(*) FILTER (WHERE state = 'active')::float8 AS active,
      count(*) FILTER (WHERE state = 'paused')::float8 AS paused,
      count(*) FILTER (WHERE state = 'disabled')::float8 AS disabled,
      coalesce(array_agg((extract(epoch FROM now() - failing_since) * 1000)::float8)
        FILTER (WHERE state = 'active' AND failing_since IS NOT NULL), '{}') AS "failingMs"
    FROM endpoint LEFT JOIN LATERAL (
      SELECT min(due_at) AS at FROM delivery
      WHERE endpoint_id = endpoint.id AND due_at IS NOT NULL AND state = 'active') AS due ON true`;
  return { ...row, oldestSeconds: row.oldestSeconds ?? 0 };
}
