import { redisTime, type Logger, type RedisConnection } from '@leadgate/boot';
import { linkCountStream } from '@leadgate/intake';
import { acceptedStreams, oldestWaiting } from '@leadgate/queue';
import {
  ALARM_KINDS,
  databaseTime,
  deletedSubmissions,
  endpointsNearTheirEnd,
  listOpen,
  missingRows,
  settleAlarms,
  type FoundAlarm,
  type MissingRows,
  type Store,
} from '@leadgate/store';
import type { MaintenanceTask, Lease } from '../maintenance/maintenance.ts';
import { queueAge } from './rules.ts';
import { watchLinks } from './watched-links.ts';

const EVERY_MS = 20_000;

/** What is missing may be found in the next look: the books are said to be open after this. */
const MISSING_MS = 15_000;

/**
 * Each look at the rows of an hour reads them all, so it is taken when Postgres says that rows were deleted, for as
 * long as some are missing, and from time to time all the same. Of too many there is no time to read them: the other
 * alarms do not wait for it.
 */
const ROWS_EVERY_MS = 600_000;

/** Refusals are of so long. Of a flood, what so many reads give is enough to tell a share. */
const QUARTER_MS = 900_000;
const ENTRIES_AT_ONCE = 500;
const MOST_READS = 20;

/**
 * Opens and closes alarms by the rules, from what was counted. One worker at a time does it. The log says of
 * each alarm once that it is open and once that it is over; while Postgres is away, of those that Redis alone
 * tells. The time is the servers', never this process's.
 */
export function createAlarmsTask(
  redis: RedisConnection,
  store: Store,
  lease: Pick<Lease, 'hold'>,
  logger: Pick<Logger, 'info' | 'warn'>,
): MaintenanceTask {
  const links = watchLinks(store);
  /** What was found at the last look: the log has it. */
  let known = new Map<string, FoundAlarm>();
  let rows = { deleted: NaN, missing: [] as MissingRows[], lookedAt: -Infinity };

  async function rowsMissing(now: number): Promise<MissingRows[]> {
    const deleted = await deletedSubmissions(store);
    const isDue = performance.now() - rows.lookedAt > ROWS_EVERY_MS;
    if (isDue || deleted !== rows.deleted || rows.missing.length > 0) {
      const missing = await missingRows(store, new Date(now)).catch((err: unknown) => {
        logger.warn(
          { err },
          'the rows of the last hour could not be counted: alarms go on without',
        );
        return rows.missing;
      });
      rows = { deleted, missing, lookedAt: performance.now() };
    }
    return rows.missing;
  }

  async function ofBooks(now: number): Promise<FoundAlarm[]> {
    const open = (await listOpen(store)).filter(
      ({ state, since }) => state === 'missing' && since.getTime() < now - MISSING_MS,
    );
    const found = new Map<string, { workspaceId: string; missing: number }>();
    const add = (linkId: string, workspaceId: string, missing: number) => {
      const before = found.get(linkId)?.missing ?? 0;
      found.set(linkId, { workspaceId, missing: before + missing });
    };
    for (const { linkId, workspaceId } of open) add(linkId, workspaceId, 1);
    for (const { linkId, workspaceId, rows } of await rowsMissing(now))
      add(linkId, workspaceId, rows);
    return [...found].map(([subject, { workspaceId, missing }]) => ({
      ...{ kind: 'ledger', subject, workspaceId, facts: { missing } },
    }));
  }

  async function ofQueue(): Promise<FoundAlarm[]> {
    const late = queueAge(await oldestWaiting(redis));
    if (late === null) return [];
    return [{ kind: 'queue', subject: 'queue', workspaceId: null, facts: { ...late } }];
  }

  async function ofEndpoints(): Promise<FoundAlarm[]> {
    return (await endpointsNearTheirEnd(store)).map(({ endpointId, workspaceId, hours }) => ({
      ...{ kind: 'deliveries', subject: endpointId, workspaceId, facts: { hours } },
    }));
  }

  /** By link, what Redis has of the last quarter of an hour: workers that count it need Postgres. */
  async function countsInRedis() {
    const after = Math.floor((await redisTime(redis)) - QUARTER_MS);
    const counts = new Map<string, { posts: number; refused: number }>();
    const add = (linkId: string, n: number, refused: number) => {
      const before = counts.get(linkId) ?? { posts: 0, refused: 0 };
      counts.set(linkId, { posts: before.posts + n, refused: before.refused + refused });
    };
    for (const entry of await readSince(linkCountStream(redis).read, after))
      for (const { linkId, what, n } of entry.counts) if (what !== 'spooled') add(linkId, n, n);
    for (const stream of await acceptedStreams(redis))
      for (const entry of await readSince(stream.read, after))
        for (const { linkId, kind } of entry.accepted) if (kind === 'post') add(linkId, 1, 0);
    return counts;
  }

  const open = (alarm: FoundAlarm) => {
    if (!known.has(keyOf(alarm)))
      logger.warn({ alarm: alarm.kind, subject: alarm.subject, ...alarm.facts }, 'alarm opened');
    known.set(keyOf(alarm), alarm);
  };
  const close = ({ kind, subject }: Pick<FoundAlarm, 'kind' | 'subject'>) =>
    logger.info({ alarm: kind, subject }, 'alarm closed');

  return {
    name: 'alarms',
    everyMs: EVERY_MS,
    async run() {
      if (!(await lease.hold())) {
        known = new Map();
        return null;
      }
      const queue = await ofQueue();
      const now = await databaseTime(store).catch(async (error: unknown) => {
        for (const alarm of [...queue, ...links.lookAtRefusals(await countsInRedis())]) open(alarm);
        throw error;
      });
      const found = [
        ...queue,
        ...(await links.look(now.getTime())),
        ...(await ofBooks(now.getTime())),
        ...(await ofEndpoints()),
      ];
      const { opened, closed } = await settleAlarms(store, ALARM_KINDS, found);
      opened.forEach(open);
      closed.forEach(close);
      const over = new Map([...known, ...closed.map((one) => [keyOf(one), null] as const)]);
      known = new Map(found.map((alarm) => [keyOf(alarm), alarm]));
      // Told while Postgres was away, and over before it was back.
      for (const [key, alarm] of over) if (alarm !== null && !known.has(key)) close(alarm);
      return null;
    },
  };
}

const keyOf = ({ kind, subject }: Pick<FoundAlarm, 'kind' | 'subject'>) => `${kind} ${subject}`;

async function readSince<T extends { entryId: string }>(
  read: (after: string, limit: number) => Promise<T[]>,
  sinceMs: number,
): Promise<T[]> {
  const all: T[] = [];
  for (let n = 0; n < MOST_READS; n++) {
    const entries = await read(all.at(-1)?.entryId ?? sinceMs.toString(), ENTRIES_AT_ONCE);
    all.push(...entries);
    if (entries.length < ENTRIES_AT_ONCE) break;
  }
  return all;
}
