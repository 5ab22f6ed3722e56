import type { EndpointEvent } from '@leadgate/contract';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { DELIVERIES_CHANNEL } from './apply/lead-rows.ts';
import type { ConsentAction } from './consents.ts';
import { withoutValues } from './failure-of.ts';
import { fieldsOfWorkspaces } from './fields.ts';
import { Prisma } from './generated/client.ts';
import { readTouch, type SourcedTouch } from './lead-details.ts';
import { type LeadSummary, listedColumns, type ListedLeadRow, readLead } from './leads.ts';
import { connectionOf, isPooled, type Store } from './open-store.ts';
import { deleteInBatches, isoTime, NIL_UUID, uuidArray } from './statements.ts';

/** An endpoint whose deliveries one deliverer sends, until its lease ends. */
export interface Lane {
  endpointId: string;
  /** What sends to it. */
  kind: string;
  url: string;
  /** By the destination's name of a field, queries over the lead; null: those of its kind. */
  mapping: Record<string, string[]> | null;
  /** JSON of its headers, and its secrets, the one in use first: sealed. */
  headers: Uint8Array | null;
  secrets: Uint8Array[];
  perSecond: number | null;
  concurrency: number;
  /** Whether deliveries are sent: paused and disabled endpoints are sent tests only. */
  active: boolean;
  /** Failures since the last success, and when the first of them was. */
  failures: number;
  failingSince: Date | null;
  /** Milliseconds for which it is left alone; 0 or less: not at all. */
  quietMs: number;
  /** Milliseconds until its next delivery is due; 0 or less: one is. Null: none waits. */
  dueMs: number | null;
  testId: string | null;
}

/** A lane, and the deliverer that holds it, or held it. */
interface HeldLane {
  owner: string;
  endpointId: string;
}

/**
 * Takes lanes that have something to send and that no deliverer holds, at most `limit` of them, and returns
 * the ids of their endpoints. Deliverers that ask at once never take the same one.
 */
export async function takeLanes(
  store: Store,
  owner: string,
  { leaseMs, limit }: { leaseMs: number; limit: number },
): Promise<string[]> {
  const rows = await store.prisma.$queryRaw<{ id: string }[]>`
    UPDATE endpoint SET lane_owner = ${owner}::uuid, lane_until = ${fromNow(leaseMs)},
      -- Whoever had it did not give it back: nobody knows what it was sending.
      lane_lost_at = CASE WHEN lane_owner IS NULL THEN lane_lost_at ELSE clock_timestamp() END
    WHERE id IN (
      SELECT e.id FROM endpoint e
      WHERE (e.lane_until IS NULL OR e.lane_until < clock_timestamp())
        AND (e.test_id IS NOT NULL OR (
          e.state = 'active' AND (e.quiet_until IS NULL OR e.quiet_until <= clock_timestamp())
          AND EXISTS (SELECT FROM delivery d
                      WHERE d.endpoint_id = e.id AND d.due_at <= clock_timestamp())))
      ORDER BY e.id LIMIT ${limit}::int
      FOR UPDATE SKIP LOCKED)
    RETURNING id`;
  return rows.map(({ id }) => id);
}

/** Holds lanes for longer, and returns the ids of those that are still the owner's. */
export async function keepLanes(
  store: Store,
  owner: string,
  endpointIds: readonly string[],
  leaseMs: number,
): Promise<string[]> {
  if (endpointIds.length === 0) return [];
  const rows = await store.prisma.$queryRaw<{ id: string }[]>`
    UPDATE endpoint SET lane_until = ${fromNow(leaseMs)}
    WHERE id = ANY (${endpointIds}::uuid[]) AND lane_owner = ${owner}::uuid
    RETURNING id`;
  return rows.map(({ id }) => id);
}

/**
 * Gives a lane back, to be taken after so many milliseconds: its rate is kept across deliverers. `isCut`: sends were
 * ended before their answer.
 */
export async function releaseLane(
  store: Store,
  owner: string,
  endpointId: string,
  { afterMs, isCut }: { afterMs: number; isCut: boolean },
): Promise<void> {
  await store.prisma.$executeRaw`
    UPDATE endpoint SET lane_owner = NULL, lane_until = ${fromNow(afterMs)},
      lane_lost_at = CASE WHEN ${isCut} THEN clock_timestamp() ELSE lane_lost_at END
    WHERE id = ${endpointId}::uuid AND lane_owner = ${owner}::uuid`;
}

/** The lanes of an owner as they are now. */
export async function readLanes(store: Store, owner: string): Promise<Lane[]> {
  return store.prisma.$queryRaw<Lane[]>`
    SELECT e.id AS "endpointId", e.kind, e.url, e.mapping, e.headers, e.per_second AS "perSecond", e.concurrency,
      CASE WHEN e.old_secret_until > now() THEN ARRAY[e.secret, e.old_secret] ELSE ARRAY[e.secret] END
        AS secrets,
      e.state = 'active' AS active, e.failures, e.failing_since AS "failingSince",
      coalesce(extract(epoch FROM e.quiet_until - clock_timestamp()) * 1000, 0)::float8 AS "quietMs",
      (SELECT extract(epoch FROM min(d.due_at) - clock_timestamp()) * 1000 FROM delivery d
       WHERE d.endpoint_id = e.id AND d.due_at IS NOT NULL)::float8 AS "dueMs",
      e.test_id AS "testId"
    FROM endpoint e
    WHERE e.lane_owner = ${owner}::uuid AND e.lane_until > clock_timestamp()`;
}

/** Of the words, only which version of them. */
interface ConsentStanding {
  state: ConsentAction;
  /** By the service's clock: ISO 8601, UTC. */
  at: string;
  textVersion?: string;
}

/** The lead as an endpoint is told of it: fields are named as in a posted body. */
export interface LeadContent extends Omit<LeadSummary, 'workspace' | 'erased'> {
  version: number;
  firstTouch: SourcedTouch | null;
  lastTouch: SourcedTouch | null;
  /** How it stands with consent: what was granted or withdrawn last, else that it was refused; null: none was asked. */
  consent: ConsentStanding | null;
  /** Leads that are this one now, with their last versions. */
  mergedLeads: { leadId: string; version: number }[];
}

/** What is told of an alarm: counts and names of fields, nothing of a person. */
interface AlarmContent {
  alarmId: string;
  kind: string;
  subject: string;
  label: string;
  workspaceId: string | null;
  facts: Record<string, number | string>;
  openedAt: string;
  closedAt: string | null;
}

/** The lead or the alarm as it stands now. */
type DueContent = { lead: LeadContent; alarm: null } | { lead: null; alarm: AlarmContent };

export type DueDelivery = DueContent & {
  leadId: string;
  event: EndpointEvent;
  resends: number;
  /** How often it has failed. */
  attempts: number;
  /** What the destination calls the lead: what it said, each once. */
  remoteIds: string[];
  /** The span of the commit that it is of, if that was traced. */
  traceparent: string | null;
  version: number;
  /** ISO 8601: when it became what it is. */
  changedAt: string;
};

export interface LeadContentRow extends ListedLeadRow {
  version: number;
  mergedLeads: LeadContent['mergedLeads'];
  consent: { state: ConsentAction; stamp: number; textVersion: string | null } | null;
}

/** What is read of a lead and its workspace `w` to tell others of it. */
export const contentColumns = Prisma.sql`
  lead.version, ${listedColumns},
  (SELECT coalesce(jsonb_agg(jsonb_build_object('leadId', m.id, 'version', m.version)), '[]')
   FROM lead m
   WHERE m.workspace_id = lead.workspace_id AND m.merged_into = lead.id AND m.version > 0)
    AS "mergedLeads",
  (SELECT jsonb_build_object('state', c.action, 'stamp', c.stamp, 'textVersion', c.text_version)
   FROM consent c
   WHERE c.workspace_id = lead.workspace_id AND lead.erased_order IS NULL AND c.lead_id = ANY (lead.id || ARRAY(
     SELECT m.id FROM lead m WHERE m.workspace_id = lead.workspace_id AND m.merged_into = lead.id))
   -- A box that was left empty takes nothing back.
   ORDER BY c.action = 'refused', c.stamp DESC, c.submission_id DESC LIMIT 1) AS consent`;

export function readLeadContent(
  row: LeadContentRow,
  fields: Parameters<typeof readLead>[1],
): LeadContent {
  const { version, mergedLeads } = row;
  return Object.assign(readLead(row, fields), {
    version,
    firstTouch: readTouch(row.firstTouch),
    lastTouch: readTouch(row.lastTouch),
    consent: row.consent && readConsentStanding(row.consent),
    mergedLeads,
  });
}

const readConsentStanding = ({
  state,
  stamp,
  textVersion,
}: NonNullable<LeadContentRow['consent']>): ConsentStanding => ({
  ...{ state, at: isoTime(stamp) },
  ...(textVersion !== null && { textVersion }),
});

interface DueRow extends Omit<LeadContentRow, 'createdAt' | 'updatedAt'> {
  createdAt: string;
  updatedAt: string;
  /** Null: it is of a lead. Else nothing of one is there. */
  alarm: AlarmContent | null;
  dueId: string;
  event: EndpointEvent;
  resends: number;
  attempts: number;
  remoteIds: string[];
  traceparent: string | null;
}

const iso = (column: Prisma.Sql) => Prisma.sql`
  to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const alarmContent = Prisma.sql`
  jsonb_build_object(
    'alarmId', alarm.id, 'kind', alarm.kind, 'subject', alarm.subject, 'facts', alarm.facts,
    'workspaceId', alarm.workspace_id,
    'label', coalesce((SELECT label FROM capture_link k WHERE k.id::text = alarm.subject),
                      (SELECT name FROM endpoint e WHERE e.id::text = alarm.subject), ''),
    'openedAt', ${iso(Prisma.sql`alarm.opened_at`)}, 'closedAt', ${iso(Prisma.sql`alarm.closed_at`)})`;

/**
 * What a lane is to send now, what has waited longest first, with the lead as it stands. Nothing once the
 * lane is not the owner's any more. `freshFirst`: what failed least comes first, to probe an endpoint with.
 */
export async function dueDeliveries(
  store: Store,
  lane: HeldLane,
  { limit, except, freshFirst }: { limit: number; except: readonly string[]; freshFirst: boolean },
): Promise<DueDelivery[]> {
  const order = freshFirst ? Prisma.sql`attempts, due_at` : Prisma.sql`due_at`;
  // One text: the driver would take longer for these many columns than for all of a send that is left.
  const [found] = await store.query<{ rows: DueRow[] | null }>(Prisma.sql`
    WITH due AS MATERIALIZED (
      -- First: however many wait, only the leads of these are read.
      SELECT workspace_id, lead_id, event, resends, attempts, remote_ids, traceparent, due_at
      FROM delivery
      WHERE endpoint_id = ${lane.endpointId}::uuid AND due_at <= now()
        AND lead_id <> ALL (${uuidArray(except)}::uuid[])
        AND EXISTS (SELECT FROM endpoint e WHERE e.id = ${lane.endpointId}::uuid AND e.state = 'active'
                    AND e.lane_owner = ${lane.owner}::uuid AND e.lane_until > clock_timestamp())
      ORDER BY ${order} LIMIT ${limit}::int
    ), told AS (
      SELECT due.event, due.resends, due.attempts, due.remote_ids AS "remoteIds",
        due.traceparent, ${contentColumns}, due.lead_id AS "dueId",
        CASE WHEN alarm.id IS NOT NULL THEN ${alarmContent} END AS alarm
      FROM due
      JOIN workspace w ON w.id = due.workspace_id
      LEFT JOIN lead ON lead.workspace_id = due.workspace_id AND lead.id = due.lead_id
      LEFT JOIN alarm ON due.event LIKE 'alarm.%' AND alarm.id = due.lead_id
      WHERE lead.id IS NOT NULL OR alarm.id IS NOT NULL
      ORDER BY ${order})
    SELECT json_agg(told) AS rows FROM told`);
  const rows = found?.rows ?? [];
  const fields = await fieldsOfWorkspaces(
    store.prisma,
    rows.flatMap(({ alarm, workspaceId }) => (alarm === null ? [workspaceId] : [])),
  );
  return rows.map((row) => {
    const { dueId, event, resends, attempts, remoteIds, traceparent, alarm } = row;
    const of = { leadId: dueId, event, resends, attempts, remoteIds, traceparent };
    if (alarm !== null) {
      const { openedAt, closedAt } = alarm;
      const changedAt = closedAt ?? openedAt;
      return { ...of, version: closedAt === null ? 1 : 2, changedAt, lead: null, alarm };
    }
    const times = { createdAt: new Date(row.createdAt), updatedAt: new Date(row.updatedAt) };
    const lead = readLeadContent(Object.assign(row, times), fields);
    return { ...of, version: lead.version, changedAt: lead.updatedAt, lead, alarm: null };
  });
}

/** One try, as the log keeps it. */
export interface DeliveryTry {
  /** Null: a test. */
  leadId: string | null;
  version: number | null;
  event: EndpointEvent | 'endpoint.test';
  messageId: string;
  outcome:
    | 'delivered'
    | 'skipped'
    | 'answered'
    | 'refused'
    | 'timeout'
    | 'no-connection'
    | 'broken-answer';
  status: number | null;
  /** No personal data. */
  detail: string;
  durationMs: number;
}

export interface SentDelivery extends DeliveryTry {
  leadId: string;
  version: number;
  resends: number;
  /** Milliseconds after which it is tried again if it was not delivered. */
  retryMs: number;
  /**
   * Milliseconds after which it is sent once more although it was delivered, if a try before it may have had no
   * answer; null: it is not.
   */
  confirmMs: number | null;
  /** What the destination calls the lead; null: it did not say. */
  remoteId: string | null;
}

/** How an endpoint stands after some tries. */
export interface EndpointStanding {
  /** Since the last success. */
  failures: number;
  /** How long it is left alone; null: not at all. Milliseconds. */
  quietMs: number | null;
  /** Why it is disabled now; null: it is not. */
  disabled: string | null;
}

/**
 * Writes what came of some tries: the log, what waits on, how the endpoint stands, and counts what it took. A lead that changed while
 * it was sent waits on. What failed for `setAsideMs` at an endpoint that took others meanwhile is set aside.
 *
 * Of a lane that the owner lost meanwhile it writes what happened (the log, what was taken, and by which name), and
 * leaves to the one who holds it what comes next and how the endpoint stands.
 *
 * Rejects with a StoreError; the same again is harmless but for the log.
 */
export async function recordTries(
  store: Store,
  { owner, endpointId }: HeldLane,
  tries: readonly SentDelivery[],
  { failures, quietMs, disabled }: EndpointStanding,
  setAsideMs: number,
): Promise<void> {
  const anyDelivered = tries.some(({ outcome }) => outcome === 'delivered');
  // Said as a list, they are found by the index, however the rows are thought to be spread.
  const leadIds = uuidArray(tries.map(({ leadId }) => leadId));
  try {
    await store.query(Prisma.sql`
      WITH tried AS (
        SELECT * FROM jsonb_to_recordset(${JSON.stringify(tries)}::jsonb) AS tried (
          "leadId" uuid, version integer, resends integer, event text, "messageId" text, outcome text,
          status integer, detail text, "durationMs" integer, "retryMs" float8, "confirmMs" float8,
          "remoteId" text)
      ), logged AS (
        INSERT INTO delivery_attempt
          (endpoint_id, lead_id, version, event, message_id, outcome, status, detail, duration_ms)
        SELECT ${endpointId}::uuid, "leadId", version, event, "messageId", outcome, status, detail,
               "durationMs" FROM tried
        WHERE EXISTS (SELECT FROM endpoint WHERE id = ${endpointId}::uuid)
      ), locked AS (
        -- In the order of group commits, which write the same rows.
        SELECT lead_id, delivered_version AS known, version AS latest, resends AS asked,
          remote_ids AS names, attempts, due_at
        FROM delivery
        WHERE endpoint_id = ${endpointId}::uuid AND lead_id = ANY (${leadIds}::uuid[])
        ORDER BY lead_id FOR UPDATE
      ), lane AS (
        -- As it is once those are locked, and until this is written.
        SELECT lane_owner IS NOT DISTINCT FROM ${owner}::uuid AS held, lane_lost_at FROM endpoint
        WHERE id = ${endpointId}::uuid AND (SELECT count(*) FROM locked) >= 0
        FOR NO KEY UPDATE
      ), standing AS (
        UPDATE endpoint SET
          failures = ${failures}::int,
          failing_since = CASE WHEN ${failures}::int > 0 THEN coalesce(failing_since, now()) END,
          quiet_until = now() + ${quietMs}::float8 * interval '1 millisecond',
          delivered_at = CASE WHEN ${anyDelivered} THEN now() ELSE delivered_at END,
          state = CASE WHEN ${disabled}::text IS NULL OR state = 'paused' THEN state ELSE 'disabled' END,
          reason = coalesce(${disabled}::text, reason)
        WHERE id = ${endpointId}::uuid AND (SELECT held FROM lane)
          -- While all is well, not with every send.
          AND (failures > 0 OR ${failures}::int > 0 OR quiet_until IS NOT NULL
               OR ${quietMs}::float8 IS NOT NULL OR ${disabled}::text IS NOT NULL
               OR delivered_at IS NULL OR delivered_at < now() - interval '1 second')
      ), judged AS (
        SELECT tried.*, held, outcome IN ('delivered', 'skipped') AS delivered,
               -- A try before this one may have had no answer.
               (attempts > 0 OR due_at <= lane_lost_at) AND "confirmMs" IS NOT NULL AS unsure,
               -- It changed, or was asked for again, while it was sent; or there is one more to erase.
               latest > version OR asked > resends
                 OR tried.event = 'lead.erased' AND cardinality(names) > 1 AS "isBehind",
               outcome = 'delivered' AND version > known AS counts
        FROM tried JOIN locked ON "leadId" = lead_id CROSS JOIN lane
      ), settled AS (
        UPDATE delivery d SET
          due_at = CASE
            -- It may be what the destination has now, instead of what was sent by the next one.
            WHEN NOT held THEN coalesce(d.due_at, now() + "confirmMs" * interval '1 millisecond')
            WHEN delivered AND NOT "isBehind"
              THEN CASE WHEN unsure THEN now() + "confirmMs" * interval '1 millisecond' END
            -- What is sent next is what has to be confirmed.
            WHEN delivered AND unsure THEN least(d.due_at, now())
            WHEN delivered THEN now()
            WHEN ${isSetAside(endpointId, setAsideMs)} THEN NULL
            ELSE now() + "retryMs" * interval '1 millisecond' END,
          failed_at = CASE
            WHEN NOT held THEN d.failed_at
            WHEN NOT delivered AND ${isSetAside(endpointId, setAsideMs)} THEN now() END,
          attempts = CASE
            WHEN NOT held THEN d.attempts
            WHEN NOT delivered THEN d.attempts + 1
            WHEN unsure AND "isBehind" THEN d.attempts
            ELSE 0 END,
          failing_since = CASE
            WHEN NOT held THEN d.failing_since
            WHEN NOT delivered THEN coalesce(d.failing_since, now()) END,
          delivered_version = CASE
            WHEN delivered THEN greatest(judged.version, d.delivered_version)
            ELSE d.delivered_version END,
          delivered_at = CASE WHEN outcome = 'delivered' THEN now() ELSE d.delivered_at END,
          remote_ids = CASE
            WHEN held AND delivered AND judged.event = 'lead.erased' THEN d.remote_ids[2:]
            WHEN "remoteId" IS NULL OR "remoteId" = ANY (d.remote_ids) THEN d.remote_ids
            ELSE d.remote_ids || "remoteId" END,
          event = CASE WHEN delivered AND d.event = 'lead.created' THEN 'lead.updated' ELSE d.event END
        FROM judged
        WHERE d.endpoint_id = ${endpointId}::uuid AND d.lead_id = ANY (${leadIds}::uuid[])
          AND d.lead_id = judged."leadId"
        RETURNING d.workspace_id, d.link_id, judged.counts
      )
      INSERT INTO tally (workspace_id, link_id, at, what, n)
      SELECT workspace_id, link_id, date_trunc('minute', now()), 'delivered', count(*)::integer
      FROM settled WHERE counts AND link_id IS NOT NULL GROUP BY workspace_id, link_id`);
  } catch (error) {
    throw withoutValues(error);
  }
}

/** An erasure never is: no change of the lead would bring it back. */
const isSetAside = (endpointId: string, setAsideMs: number) => Prisma.sql`
  (d.event <> 'lead.erased' AND d.failing_since < now() - ${setAsideMs}::float8 * interval '1 millisecond'
   AND EXISTS (SELECT FROM endpoint e
               WHERE e.id = ${endpointId}::uuid AND e.delivered_at > d.failing_since))`;

/** Writes what came of a test that was asked for. */
export async function recordTest(
  store: Store,
  endpointId: string,
  testId: string,
  one: DeliveryTry,
): Promise<void> {
  await store.prisma.$executeRaw`
    WITH taken AS (
      UPDATE endpoint SET test_id = NULL
      WHERE id = ${endpointId}::uuid AND test_id = ${testId}::uuid RETURNING id
    )
    INSERT INTO delivery_attempt
      (endpoint_id, event, message_id, outcome, status, detail, duration_ms)
    SELECT id, ${one.event}, ${one.messageId}, ${one.outcome}, ${one.status}::int, ${one.detail},
           ${one.durationMs}::int FROM taken`;
}

/** What came of a test; null: it was not sent yet. */
export async function findTest(
  store: Store,
  endpointId: string,
  testId: string,
): Promise<Pick<DeliveryTry, 'messageId' | 'outcome' | 'status' | 'detail' | 'durationMs'> | null> {
  const row = await store.prisma.deliveryAttempt.findFirst({
    where: { endpointId, messageId: `msg_test_${testId}` },
    select: { messageId: true, outcome: true, status: true, detail: true, durationMs: true },
  });
  // The table's check allows these only.
  return row && { ...row, outcome: row.outcome as DeliveryTry['outcome'] };
}

/** Which deliveries of an endpoint; all of these have to fit. */
interface DeliveryFilter {
  leadId?: string;
  /** Those that failed for so long that they are not tried any more. */
  setAside?: boolean;
  /** Those that were last delivered at this moment or later. */
  since?: Date;
  /** Those that were last delivered before this moment, or never. */
  until?: Date;
}

/**
 * Sends deliveries again, the waiting and the set aside ones at once: each with its lead as it stands, under a
 * new message id. In steps by lead, so that group commits do not wait long: says of each how many they were, and
 * which was the last. `after`: the last of a step before.
 */
export async function* resendSteps(
  store: Store,
  endpointId: string,
  { leadId, setAside = false, since, until }: DeliveryFilter,
  after: string | null = null,
): AsyncGenerator<{ count: number; last: string }> {
  const fits = Prisma.join(
    [
      Prisma.sql`endpoint_id = ${endpointId}::uuid`,
      ...(leadId === undefined ? [] : [Prisma.sql`lead_id = ${leadId}::uuid`]),
      ...(setAside ? [Prisma.sql`failed_at IS NOT NULL`] : []),
      ...(since === undefined ? [] : [Prisma.sql`delivered_at >= ${since}`]),
      ...(until === undefined
        ? []
        : [Prisma.sql`(delivered_at IS NULL OR delivered_at < ${until})`]),
    ],
    ' AND ',
  );
  for (let from = after ?? NIL_UUID; ;) {
    const [step] = await store.prisma.$queryRaw<[{ count: number; last: string | null }]>`
      WITH next AS (
        SELECT lead_id FROM delivery WHERE ${fits} AND lead_id > ${from}::uuid
        ORDER BY lead_id LIMIT ${BATCH}::int FOR UPDATE
      ), resent AS (
        UPDATE delivery d SET
          resends = resends + 1, failed_at = NULL, failing_since = NULL,
          -- That a try may have had no answer is not forgotten, nor what waits to be confirmed for that.
          due_at = least(due_at, now()), attempts = coalesce(attempts > 0 OR due_at > now(), false)::integer
        FROM next WHERE d.endpoint_id = ${endpointId}::uuid AND d.lead_id = next.lead_id
        RETURNING d.lead_id
      )
      SELECT count(*)::float8 AS count, max(lead_id::text) AS last,
             pg_notify(${DELIVERIES_CHANNEL}, '')::text
      FROM resent`;
    if (step.last === null) return;
    yield { count: step.count, last: step.last };
    if (step.count < BATCH) return;
    from = step.last;
  }
}

/** How long tries are kept. */
const KEPT = '14 days';
/** Rows a statement: deleting should not hold a table for long. */
const BATCH = 5_000;

/** Lets go of tries that are old, and of what waits for endpoints that are gone. Returns how many. */
export async function sweepDeliveries(store: Store): Promise<number> {
  const tries = await deleteInBatches(
    (limit) => store.prisma.$executeRaw`
      DELETE FROM delivery_attempt WHERE id IN (
        SELECT id FROM delivery_attempt WHERE at < now() - ${KEPT}::interval ORDER BY id LIMIT ${limit}::int)`,
  );
  // A group commit that saw an endpoint may end after its removal.
  const orphans = await deleteInBatches(
    (limit) => store.prisma.$executeRaw`
      DELETE FROM delivery WHERE (endpoint_id, lead_id) IN (
        SELECT endpoint_id, lead_id FROM delivery d
        WHERE due_at IS NOT NULL AND NOT EXISTS (SELECT FROM endpoint WHERE id = d.endpoint_id)
        LIMIT ${limit}::int)`,
  );
  return tries + orphans;
}

const LISTEN_AGAIN_MS = 1_000;

/**
 * Calls `onWake` whenever something was committed that is to be delivered, and once it listens (again), as it
 * may have missed some. Behind a PgBouncer nothing can be heard: whoever listens has to look by itself too.
 */
export function listenForDeliveries(
  url: string,
  onWake: () => void,
): { close: () => Promise<void> } {
  if (isPooled(url)) return { close: () => Promise.resolve() };
  const stop = new AbortController();
  const listening = (async () => {
    while (!stop.signal.aborted) {
      await listenOnce(url, onWake, stop.signal).catch(() => null);
      await delay(LISTEN_AGAIN_MS, undefined, { signal: stop.signal }).catch(() => null);
    }
  })();
  return {
    close: () => {
      stop.abort();
      return listening;
    },
  };
}

const CONNECT_WITHIN_MS = 5_000;

/** Until the connection breaks or is not wanted any more. */
async function listenOnce(url: string, onWake: () => void, signal: AbortSignal): Promise<void> {
  const client = new pg.Client({
    ...connectionOf(url, CONNECT_WITHIN_MS),
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    keepAlive: true,
    application_name: 'leadgate',
  });
  const ended = new Promise<void>((resolve) => {
    client.on('end', resolve).on('error', () => resolve());
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  client.on('notification', onWake);
  try {
    await client.connect();
    await client.query(`LISTEN ${DELIVERIES_CHANNEL}`);
    onWake();
    await ended;
  } finally {
    await client.end().catch(() => null);
  }
}

function fromNow(ms: number): Prisma.Sql {
  return Prisma.sql`clock_timestamp() + ${ms}::float8 * interval '1 millisecond'`;
}
