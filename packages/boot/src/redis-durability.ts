import type { Redis } from 'ioredis';
import { addressOf, isCluster, mastersOf, type RedisConnection } from './redis.ts';

/** What a server says of how well it keeps what it was given; `unknown` if it will not say. */
export interface RedisDurability {
  /** Host and port of a node of a Cluster; null if Redis is one server. */
  node: string | null;
  /** Whether it is a node of a Cluster, and those that connected do not know. */
  isPartOfCluster: boolean;
  version: string;
  evictionPolicy: string;
  aof: boolean;
  appendfsync: string;
  noAppendfsyncOnRewrite: boolean | 'unknown';
  /** Bytes; 0: no limit. */
  maxmemory: number;
  /** Bytes. */
  usedMemory: number;
  /** Connected now. */
  replicas: number;
  /** Seconds after which a master and a replica give up a connection that is silent; null if unknown. */
  replTimeout: number | null;
}

/**
 * Reads INFO and CONFIG GET of Redis, or of every master of a Cluster. A managed Redis that refuses
 * CONFIG leaves the settings that only CONFIG knows `unknown`. Rejects when one does not answer.
 */
export async function inspectRedis(redis: RedisConnection): Promise<RedisDurability[]> {
  const isKnown = isCluster(redis);
  return Promise.all(
    mastersOf(redis).map((server) => inspectServer(server, isKnown ? addressOf(server) : null)),
  );
}

async function inspectServer(redis: Redis, node: string | null): Promise<RedisDurability> {
  const [info, config] = await Promise.all([readInfo(redis), readSettings(redis)]);
  const rewrite = config.get('no-appendfsync-on-rewrite');
  return {
    node,
    isPartOfCluster: node === null && info.get('cluster_enabled') === '1',
    version: info.get('redis_version') ?? 'unknown',
    evictionPolicy: info.get('maxmemory_policy') ?? config.get('maxmemory-policy') ?? 'unknown',
    aof: info.get('aof_enabled') === '1',
    appendfsync: config.get('appendfsync') ?? 'unknown',
    noAppendfsyncOnRewrite: rewrite === undefined ? 'unknown' : rewrite === 'yes',
    maxmemory: Number(info.get('maxmemory') ?? 0),
    usedMemory: Number(info.get('used_memory') ?? 0),
    replicas: Number(info.get('connected_slaves') ?? 0),
    replTimeout: Number(config.get('repl-timeout') ?? 0) || null,
  };
}

/** The one whose memory is used the most, in percent of its limit; if none has a limit, in bytes. */
export function fullest<T extends Pick<RedisDurability, 'usedMemory' | 'maxmemory'>>(
  nodes: readonly T[],
): T | undefined {
  const share = ({ usedMemory, maxmemory }: T): number =>
    maxmemory > 0 ? usedMemory / maxmemory : 0;
  return nodes.toSorted((a, b) => share(b) - share(a) || b.usedMemory - a.usedMemory)[0];
}

async function readInfo(redis: Redis): Promise<Map<string, string>> {
  const text = await redis.info();
  return new Map(
    text.split('\r\n').flatMap((line): [string, string][] => {
      const colon = line.indexOf(':');
      return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1)]] : [];
    }),
  );
}

/** One setting a call: CONFIG GET takes several only since Redis 7. */
async function readSettings(redis: Redis): Promise<Map<string, string>> {
  const names = ['maxmemory-policy', 'appendfsync', 'no-appendfsync-on-rewrite', 'repl-timeout'];
  const values = await Promise.all(names.map((name) => readSetting(redis, name)));
  return new Map(
    names.flatMap((name, i): [string, string][] => {
      const value = values[i];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

async function readSetting(redis: Redis, name: string): Promise<string | undefined> {
  try {
    const answer: unknown = await redis.config('GET', name);
    return Array.isArray(answer) && typeof answer[1] === 'string' ? answer[1] : undefined;
  } catch (error) {
    // Only Redis's own refusal; a lost connection is the caller's to know.
    if (error instanceof Error && error.name === 'ReplyError') return undefined;
    throw error;
  }
}

interface DurabilityFindings {
  fatal: string[];
  warnings: string[];
}

/**
 * Sentences on what is wrong with a Redis that has to keep leads: `fatal` ones are reasons not to
 * start, `warnings` name a weaker promise than "on disk before the answer". Of a Cluster, with the
 * nodes if it is so.
 */
export function durabilityFindings(nodes: readonly RedisDurability[]): DurabilityFindings {
  const found = nodes.map((durability) => ({ node: durability.node, ...findingsOf(durability) }));
  const gather = (kind: keyof DurabilityFindings): string[] => {
    const where = new Map<string, string[]>();
    for (const { node, [kind]: sentences } of found)
      for (const sentence of sentences)
        where.set(sentence, [...(where.get(sentence) ?? []), ...(node === null ? [] : [node])]);
    return [...where].map(([sentence, names]) =>
      names.length === 0 ? sentence : `${sentence} (${names.join(', ')})`,
    );
  };
  return { fatal: gather('fatal'), warnings: gather('warnings') };
}

function findingsOf(durability: RedisDurability): DurabilityFindings {
  const { version, evictionPolicy, aof, appendfsync, noAppendfsyncOnRewrite } = durability;
  const fatal: string[] = [];
  const warnings: string[] = [];
  if (durability.isPartOfCluster)
    fatal.push('Redis is a node of a Cluster: set REDIS_CLUSTER to 1.');
  // Scripts whose first line has flags; Valkey says 7.2 there, whatever its own version.
  if (isOlderThan(version, 7))
    fatal.push(
      `Redis ${version} cannot run the scripts of Leadgate: run Redis 7.0 or newer, or Valkey.`,
    );
  if (evictionPolicy === 'unknown')
    warnings.push('Redis does not tell its eviction policy: make sure that it is noeviction.');
  else if (evictionPolicy !== 'noeviction')
    fatal.push(
      `Redis may throw leads away when it is full (maxmemory-policy ${evictionPolicy}): set maxmemory-policy to noeviction.`,
    );
  if (!aof)
    warnings.push(
      'Redis does not log its writes (appendonly no): accepted leads are lost when it stops; set appendonly to yes and appendfsync to always.',
    );
  else if (appendfsync === 'unknown')
    warnings.push('Redis does not tell its appendfsync: leads are safe at once only with always.');
  else if (appendfsync !== 'always')
    warnings.push(
      `Redis syncs its log later than it answers (appendfsync ${appendfsync}): a crash can lose the last leads accepted; set appendfsync to always.`,
    );
  if (aof && noAppendfsyncOnRewrite === true)
    warnings.push(
      'Redis does not sync its log while it rewrites it (no-appendfsync-on-rewrite yes): set it to no.',
    );
  return { fatal, warnings };
}

function isOlderThan(version: string, major: number): boolean {
  const parts = /^(\d+)\./.exec(version);
  return parts !== null && Number(parts[1]) < major;
}
