import { durabilityFindings, inspectRedis, type RedisDurability } from '@leadgate/boot';
import { directoryRevision, refillNeeds } from '@leadgate/intake';
import { oldestWaiting, queueCounts } from '@leadgate/queue';
import type { Redis } from 'ioredis';
import { explain, whereIs } from '../explain.ts';
import type { Session } from '../session.ts';
import type { Finding, Truth } from './examine.ts';

/** Whether Redis answers, keeps what it is given, and holds what Postgres says. */
export async function examineRedis(session: Session, truth: Truth | null): Promise<Finding[]> {
  try {
    const redis = await session.redis();
    const url = session.servers().redisUrl ?? '';
    return [
      { check: 'redis', status: 'ok', found: `answers at ${whereIs(url)}`, todo: null },
      ...(await durability(redis)),
      await directory(redis, truth),
      await workspaces(redis, truth),
      ...(await queue(redis)),
    ];
  } catch (error) {
    const { sentence } = explain(error, session);
    const todo = 'Until then leads go to the spools of receivers that have one; others answer 503.';
    return [{ check: 'redis', status: 'fail', found: sentence, todo }];
  }
}

/** At this share of maxmemory the receiver turns leads away, so that the queue can still drain. */
const OVERLOAD_SHARE = 0.8;

async function durability(redis: Redis): Promise<Finding[]> {
  const state = await inspectRedis(redis);
  const { version, evictionPolicy, aof, appendfsync, noAppendfsyncOnRewrite } = state;
  const rewrite = noAppendfsyncOnRewrite === true ? 'yes' : noAppendfsyncOnRewrite || 'no';
  return [
    judge('redis version', version, { version }),
    judge('eviction', `maxmemory-policy ${evictionPolicy}`, { evictionPolicy }),
    judge('log of writes', aof ? `appendonly yes, appendfsync ${appendfsync}` : 'appendonly no', {
      aof,
      appendfsync,
    }),
    judge('log rewrite', `no-appendfsync-on-rewrite ${rewrite}`, { noAppendfsyncOnRewrite }),
    memory(state),
  ];
}

const FLAWLESS: RedisDurability = {
  version: '7.2.0',
  evictionPolicy: 'noeviction',
  aof: true,
  appendfsync: 'always',
  noAppendfsyncOnRewrite: false,
  maxmemory: 0,
  usedMemory: 0,
};

/** What the rules say of these settings alone, all others being right. */
function judge(check: string, found: string, settings: Partial<RedisDurability>): Finding {
  const { fatal, warnings } = durabilityFindings({ ...FLAWLESS, ...settings });
  const todo = [...fatal, ...warnings].join(' ');
  const status = fatal.length > 0 ? 'fail' : warnings.length > 0 ? 'warn' : 'ok';
  return { check, status, found, todo: todo === '' ? null : todo };
}

function memory({ usedMemory, maxmemory }: { usedMemory: number; maxmemory: number }): Finding {
  const used = megabytes(usedMemory);
  if (maxmemory === 0)
    return {
      check: 'memory',
      status: 'warn',
      found: `${used} used, no limit`,
      todo: 'Set maxmemory, so that a long queue turns leads away (503) before the machine is full.',
    };
  const share = usedMemory / maxmemory;
  const found = `${used} of ${megabytes(maxmemory)} used (${Math.round(share * 100)} %)`;
  const isFull = share >= OVERLOAD_SHARE;
  return {
    check: 'memory',
    status: isFull ? 'fail' : 'ok',
    found,
    todo: isFull
      ? 'Start more workers, or raise maxmemory: leads go to the spool or are turned away.'
      : null,
  };
}

const UNKNOWN = 'not compared: Postgres cannot be asked';
const REFILL = 'A running worker refills it within seconds; else run leadgate rebuild.';

async function directory(redis: Redis, truth: Truth | null): Promise<Finding> {
  const check = 'link directory';
  const revision = await directoryRevision(redis);
  if (revision === null) {
    const found = 'not complete in Redis: unknown codes are answered 503';
    return { check, status: 'fail', found, todo: REFILL };
  }
  if (truth === null) return { check, status: 'warn', found: UNKNOWN, todo: null };
  const expected = truth.directoryRevision;
  if (revision === expected)
    return {
      check,
      status: 'ok',
      found: `complete, as Postgres (revision ${revision})`,
      todo: null,
    };
  const found = `complete, but Redis has revision ${revision} and Postgres ${expected}`;
  return { check, status: 'warn', found, todo: REFILL };
}

async function workspaces(redis: Redis, truth: Truth | null): Promise<Finding> {
  const check = 'workspaces';
  if (truth === null) return { check, status: 'warn', found: UNKNOWN, todo: null };
  const known = truth.workspaces;
  const needs = await refillNeeds(
    redis,
    known.map(({ id }) => id),
  );
  const closed = known.filter(({ id }) => needs.workspaces.includes(id));
  if (closed.length === 0)
    return {
      check,
      status: 'ok',
      found: `identities complete in Redis, of ${known.length} in all`,
      todo: null,
    };
  const names = closed.slice(0, 5).map(({ name }) => `"${name}"`);
  const more = closed.length > names.length ? ` and ${closed.length - names.length} more` : '';
  return {
    check,
    status: 'fail',
    found: `Redis lacks the identities of ${names.join(', ')}${more}`,
    todo: REFILL,
  };
}

/** Waiting for longer is worth a look: a job takes milliseconds. */
const LONG_WAIT_MS = 60_000;

async function queue(redis: Redis): Promise<Finding[]> {
  const [counts, oldest] = await Promise.all([queueCounts(redis), oldestWaiting(redis)]);
  const { waiting, active, delayed, failed, paused } = counts;
  const isLate = oldest !== null && oldest > LONG_WAIT_MS;
  const wait = oldest === null ? '' : `, the oldest for ${seconds(oldest)}`;
  return [
    {
      check: 'queue',
      status: paused || isLate ? 'warn' : 'ok',
      found: `${waiting} waiting${wait}; ${active} being applied, ${delayed} to be tried again${paused ? '; paused' : ''}`,
      todo: paused
        ? 'The queue was paused: no worker takes jobs until it is resumed.'
        : isLate
          ? 'See that a worker runs and reaches Postgres; add workers if it does.'
          : null,
    },
    {
      check: 'failed jobs',
      status: failed === 0 ? 'ok' : 'fail',
      found: failed === 0 ? 'none' : `${failed} kept`,
      todo:
        failed === 0
          ? null
          : 'The worker’s log names each submission and its reason; nothing of it is lost.',
    },
  ];
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(bytes < 10_485_760 ? 1 : 0)} MB`;
}

function seconds(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}
