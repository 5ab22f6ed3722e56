import type { EndpointEvent } from '@leadgate/contract';
import type { DeliveryTry } from './deliveries.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';

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
  /** What the destination calls the lead, if it said so. */
  remoteId: string | null;
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
      failed_at AS "setAsideAt", remote_id AS "remoteId"
    FROM delivery WHERE ${Prisma.join(fits, ' AND ')}
    ORDER BY lead_id LIMIT ${limit}::int`;
}

/** A try as the log shows it. */
export interface LoggedTry extends DeliveryTry {
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

/** What of an endpoint waits. */
export interface EndpointBacklog {
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
