import type { Logger, RedisConnection } from '@leadgate/boot';
import { oldestWaiting } from '@leadgate/queue';
import {
  ALARM_KINDS,
  databaseTime,
  driftedLinks,
  endpointsNearTheirEnd,
  listOpen,
  missingRows,
  recentPosts,
  settleAlarms,
  watchedLinks,
  type FoundAlarm,
  type Store,
  type WatchedLink,
} from '@leadgate/store';
import type { MaintenanceTask } from '../maintenance/maintenance.ts';
import type { Lease } from '../maintenance/redis-lock.ts';
import { profileOf, queueAge, refusals, silence, type LinkProfile } from './rules.ts';

const EVERY_MS = 20_000;
/** What is usual of a link changes with the hour. */
const LEARN_EVERY_MS = 3_600_000;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** What is missing may be found in the next look: the books are said to be open after this. */
const MISSING_MS = 15_000;

interface Watched extends WatchedLink {
  profile: LinkProfile | null;
}

/**
 * Opens and closes alarms by the rules, from what was counted. One worker at a time does it. The log says of
 * each alarm once that it is open and once that it is over, so that it is heard without Postgres too. The time
 * is Postgres's, never this process's.
 */
export function createAlarmsTask(
  redis: RedisConnection,
  store: Store,
  lease: Pick<Lease, 'hold'>,
  logger: Pick<Logger, 'info' | 'warn'>,
): MaintenanceTask {
  let learned = -Infinity;
  let watched: Watched[] = [];

  async function learn(now: number): Promise<void> {
    const links = await watchedLinks(store);
    watched = links.map((link) => {
      const days = Math.min(28, (now - link.since.getTime()) / DAY_MS);
      const posts = Array.from({ length: 168 }, (_, slot) => link.posts[slot.toString()] ?? 0);
      return { ...link, profile: profileOf({ posts, days }) };
    });
  }

  async function ofLinks(now: number): Promise<FoundAlarm[]> {
    const known = new Map(watched.map((link) => [link.linkId, link]));
    const recent = await recentPosts(store, [...known.keys()]);
    const drifts = new Map((await driftedLinks(store)).map((drift) => [drift.linkId, drift]));
    return recent.flatMap(({ linkId, lastAt, recent: recentPosts, posts, refused, quiet }) => {
      const link = known.get(linkId);
      if (link === undefined || quiet) return [];
      const of = { subject: linkId, workspaceId: link.workspaceId };
      const refusal = refusals({ posts, refused }, link.usual);
      // In the middle of its minute, or two days ago.
      const lastPostAt = lastAt === null ? now - 2 * DAY_MS : lastAt.getTime() + MINUTE_MS / 2;
      const silent =
        link.profile === null ? null : silence(link.profile, { lastPostAt, recentPosts, now });
      const drift = drifts.get(linkId);
      return [
        ...(refusal === null
          ? []
          : [
              {
                ...of,
                kind: 'refusals' as const,
                facts: { percent: Math.round(refusal.share * 100) },
              },
            ]),
        ...(silent === null ? [] : [{ ...of, kind: 'silence' as const, facts: { ...silent } }]),
        ...(drift === undefined ? [] : [{ ...of, kind: 'drift' as const, facts: namesOf(drift) }]),
      ];
    });
  }

  async function ofBooks(now: number): Promise<FoundAlarm[]> {
    const open = (await listOpen(store)).filter(
      ({ state, since }) => state === 'missing' && since.getTime() < now - MISSING_MS,
    );
    const found = new Map<string, FoundAlarm>();
    const add = (linkId: string, workspaceId: string, missing: number) => {
      const before = Number(found.get(linkId)?.facts['missing'] ?? 0);
      const facts = { missing: before + missing };
      found.set(linkId, { kind: 'ledger', subject: linkId, workspaceId, facts });
    };
    for (const { linkId, workspaceId } of open) add(linkId, workspaceId, 1);
    for (const { linkId, workspaceId, rows } of await missingRows(store, new Date(now)))
      add(linkId, workspaceId, rows);
    return [...found.values()];
  }

  async function ofTheRest(): Promise<FoundAlarm[]> {
    const late = queueAge(await oldestWaiting(redis));
    const endpoints = await endpointsNearTheirEnd(store);
    return [
      ...(late === null
        ? []
        : [{ kind: 'queue' as const, subject: 'queue', workspaceId: null, facts: { ...late } }]),
      ...endpoints.map(({ endpointId, workspaceId, hours }): FoundAlarm => ({
        ...{ kind: 'deliveries', subject: endpointId, workspaceId, facts: { hours } },
      })),
    ];
  }

  return {
    name: 'alarms',
    everyMs: EVERY_MS,
    async run() {
      if (!(await lease.hold())) return null;
      const now = (await databaseTime(store)).getTime();
      if (performance.now() - learned > LEARN_EVERY_MS) {
        await learn(now);
        learned = performance.now();
      }
      const found = [...(await ofLinks(now)), ...(await ofBooks(now)), ...(await ofTheRest())];
      const { opened, closed } = await settleAlarms(store, ALARM_KINDS, found);
      for (const { kind, subject, facts } of opened)
        logger.warn({ alarm: kind, subject, ...facts }, 'alarm opened');
      for (const { kind, subject } of closed) logger.info({ alarm: kind, subject }, 'alarm closed');
      return null;
    },
  };
}

/** As many as say what happened. */
const MOST_NAMED = 10;

/** Names of fields, as a person reads them. */
function namesOf(drift: { lacks: string[]; has: string[] }): Record<string, string> {
  const entries = [
    ['lacks', drift.lacks],
    ['has', drift.has],
  ] as const;
  return Object.fromEntries(
    entries.flatMap(([name, fields]) =>
      fields.length === 0 ? [] : [[name, fields.slice(0, MOST_NAMED).join(', ')]],
    ),
  );
}
