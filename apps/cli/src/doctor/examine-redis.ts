import {
  durabilityFindings,
  fullest,
  inspectRedis,
  isCluster,
  type RedisConnection,
  type RedisDurability,
} from '@leadgate/boot';
import { closedWorkspaces, directoryRevision } from '@leadgate/intake';
import { oldestWaiting, queueCounts, shardStandings } from '@leadgate/queue';
import { explain, whereRedisIs } from '../explain.ts';
import type { Session } from '../session.ts';
import type { Finding, PostgresFacts } from './examine.ts';

/** Whether Redis answers, keeps what it is given, and holds what Postgres says. */
export async function examineRedis(
  session: Session,
  facts: PostgresFacts | null,
): Promise<Finding[]> {
  try {
    const redis = await session.redis();
    const url = session.servers().redisUrl ?? '';
    return [
      { check: 'redis', status: 'ok', found: `answers at ${whereRedisIs(url)}`, todo: null },
      ...(await durability(redis)),
      await directory(redis, facts),
      await workspaces(redis, facts),
      ...(await queue(redis)),
      ...(await leftOvers(redis)),
    ];
  } catch (error) {
    const { sentence } = explain(error, session);
    const todo = 'Until then leads go to the spools of receivers that have one; others answer 503.';
    return [{ check: 'redis', status: 'fail', found: sentence, todo }];
  }
}

/** At this share of maxmemory the receiver turns leads away, so that the queue can still drain. */
const OVERLOAD_SHARE = 0.8;

async function durability(redis: RedisConnection): Promise<Finding[]> {
  const nodes = await inspectRedis(redis);
  const check = (name: string, show: (node: RedisDurability) => string, ...keys: Setting[]) =>
    findingOf(name, nodes, show, keys);
  return [
    check('redis version', ({ version }) => version, 'version', 'isPartOfCluster'),
    check('eviction', (node) => `maxmemory-policy ${node.evictionPolicy}`, 'evictionPolicy'),
    check('log of writes', logOfWrites, 'aof', 'appendfsync'),
    check('log rewrite', logRewrite, 'noAppendfsyncOnRewrite'),
    memory(nodes),
    ...(isCluster(redis) ? [replicas(nodes)] : []),
    ...replication(nodes),
  ];
}

const logOfWrites = ({ aof, appendfsync }: RedisDurability): string =>
  aof ? `appendonly yes, appendfsync ${appendfsync}` : 'appendonly no';

function logRewrite({ noAppendfsyncOnRewrite }: RedisDurability): string {
  const rewrite = noAppendfsyncOnRewrite === true ? 'yes' : noAppendfsyncOnRewrite || 'no';
  return `no-appendfsync-on-rewrite ${rewrite}`;
}

const FLAWLESS: RedisDurability = {
  node: null,
  isPartOfCluster: false,
  version: '7.2.0',
  evictionPolicy: 'noeviction',
  aof: true,
  appendfsync: 'always',
  noAppendfsyncOnRewrite: false,
  maxmemory: 0,
  usedMemory: 0,
  replicas: 0,
  replTimeout: null,
};

type Setting = Exclude<keyof RedisDurability, 'node'>;

/** What the rules say of these settings alone, all others being right. */
function findingOf(
  check: string,
  nodes: readonly RedisDurability[],
  show: (node: RedisDurability) => string,
  settings: readonly Setting[],
): Finding {
  const alone = nodes.map((node) => ({
    ...FLAWLESS,
    node: node.node,
    ...Object.fromEntries(settings.map((name) => [name, node[name]])),
  }));
  const { fatal, warnings } = durabilityFindings(alone);
  const todo = [...fatal, ...warnings].join(' ');
  const status = fatal.length > 0 ? 'fail' : warnings.length > 0 ? 'warn' : 'ok';
  const found = [...new Set(nodes.map(show))].join('; ');
  return { check, status, found, todo: todo === '' ? null : todo };
}

function memory(nodes: readonly RedisDurability[]): Finding {
  const { node, usedMemory, maxmemory } = fullest(nodes) ?? FLAWLESS;
  const used = `${megabytes(usedMemory)}`;
  const where = node === null ? '' : ` by ${node}, the fullest node`;
  if (nodes.some((one) => one.maxmemory === 0))
    return {
      check: 'memory',
      status: 'warn',
      found: maxmemory === 0 ? `${used} used${where}, no limit` : 'no limit on some nodes',
      todo: 'Set maxmemory, so that a long queue turns leads away (503) before the machine is full.',
    };
  const share = usedMemory / maxmemory;
  const found = `${used} of ${megabytes(maxmemory)} used (${Math.round(share * 100)} %)${where}`;
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

/** Without one, what a master holds is away for as long as the master is. */
function replicas(nodes: readonly RedisDurability[]): Finding {
  const check = 'replicas';
  const alone = nodes.filter((node) => node.replicas === 0).map(({ node }) => node ?? '');
  const total = nodes.reduce((sum, node) => sum + node.replicas, 0);
  const found = `${nodes.length} masters, ${total} replicas`;
  if (alone.length === 0) return { check, status: 'ok', found, todo: null };
  const todo = `Give each master a replica that runs: ${alone.join(', ')} has none.`;
  return { check, status: 'warn', found, todo };
}

/** Seconds that a replica may be taken for gone after a silence that ended. */
const LONGEST_REPL_TIMEOUT = 15;

/**
 * A replica whose network was silent stays away until repl-timeout, and so do posts that wait for it
 * (REDIS_WAIT_REPLICAS). Nothing is said if there are no replicas.
 */
function replication(nodes: readonly RedisDurability[]): Finding[] {
  const times = nodes.flatMap(({ replicas, replTimeout }) =>
    replicas > 0 && replTimeout !== null ? [replTimeout] : [],
  );
  if (times.length === 0) return [];
  const longest = Math.max(...times);
  const isLong = longest > LONGEST_REPL_TIMEOUT;
  const todo =
    'Set repl-timeout to 10 and repl-ping-replica-period to 2 on masters and replicas: a replica whose network was silent is away for as long, and with REDIS_WAIT_REPLICAS posts go to the spool meanwhile.';
  return [
    {
      check: 'replication',
      status: isLong ? 'warn' : 'ok',
      found: `repl-timeout ${longest} s`,
      todo: isLong ? todo : null,
    },
  ];
}

const UNKNOWN = 'not compared: Postgres cannot be asked';
const REFILL = 'A running worker refills it within seconds; else run leadgate rebuild.';

async function directory(redis: RedisConnection, facts: PostgresFacts | null): Promise<Finding> {
  const check = 'link directory';
  const revision = await directoryRevision(redis);
  if (revision === null) {
    const found = 'not complete in Redis: unknown codes are answered 503';
    return { check, status: 'fail', found, todo: REFILL };
  }
  if (facts === null) return { check, status: 'warn', found: UNKNOWN, todo: null };
  const expected = facts.directoryRevision;
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

async function workspaces(redis: RedisConnection, facts: PostgresFacts | null): Promise<Finding> {
  const check = 'workspaces';
  if (facts === null) return { check, status: 'warn', found: UNKNOWN, todo: null };
  const known = facts.workspaces;
  const closedIds = await closedWorkspaces(
    redis,
    known.map(({ id }) => id),
  );
  const closed = known.filter(({ id }) => closedIds.includes(id));
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
    found: `Redis lacks, or has not confirmed, the identities of ${names.join(', ')}${more}`,
    todo: REFILL,
  };
}

/** Waiting for longer is worth a look: a job takes milliseconds. */
const LONG_WAIT_MS = 60_000;

async function queue(redis: RedisConnection): Promise<Finding[]> {
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

/** Of which nothing is said if there is none. */
async function leftOvers(redis: RedisConnection): Promise<Finding[]> {
  const left = (await shardStandings(redis)).filter(({ inUse, shard }) => !inUse && shard !== 0);
  if (left.length === 0) return [];
  const jobs = left.reduce((sum, one) => sum + one.waiting + one.active + one.delayed, 0);
  return [
    {
      check: 'shards',
      status: 'warn',
      found: `nobody writes to shard ${left.map(({ shard }) => shard).join(', ')} any more; ${jobs} jobs there`,
      todo: 'Once all receivers run with the same QUEUE_SHARDS: leadgate shards drain.',
    },
  ];
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(bytes < 10_485_760 ? 1 : 0)} MB`;
}

function seconds(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}
