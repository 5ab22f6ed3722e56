import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { redactUrl, type Logger } from './logger.ts';
import { StartError, readRedisAddress, type RedisNode } from './config.ts';

/**
 * What a connection is for:
 * - `producer`: fails fast while Redis is away and works again once it is back;
 * - `worker`: waits for Redis for as long as it takes, as blocking reads must;
 * - `subscriber`: the same, for a client that only listens;
 * - `admin`: a command at a prompt, that gives up after a few seconds.
 */
export type RedisRole = 'producer' | 'worker' | 'subscriber' | 'admin';

/**
 * A server that is gone without a word (a host that died, packets that are dropped) is told from a slow
 * one by time alone: TCP would try for a quarter of an hour. A connection that has asked and hears nothing
 * for so long is closed, and made anew.
 */
const SILENT_AFTER_MS = 5_000;

const ROLES = {
  // Other mixes hang while Redis is away, or fail for ever after it is back. No auto-pipelining:
  // callers group for themselves, and it would hold a command back until the last batch is through.
  producer: {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // Longer than a request waits, whose own time hears what came in while the process stood still.
    commandTimeout: 800,
    socketTimeout: 2_000,
  },
  // No commandTimeout: it breaks blocking reads. They must not last as long as socketTimeout.
  worker: { maxRetriesPerRequest: null, socketTimeout: SILENT_AFTER_MS },
  subscriber: { maxRetriesPerRequest: null, socketTimeout: SILENT_AFTER_MS },
  admin: { maxRetriesPerRequest: 5, commandTimeout: 10_000, socketTimeout: SILENT_AFTER_MS },
} satisfies Record<RedisRole, RedisOptions>;

/** After a failover, and while the slots are spread anew, a command is tried again this often. */
const RETRY_IN_CLUSTER_MS = 100;

/**
 * What the roles are in a Cluster. Its nodes always queue what comes before they are connected, so
 * failing fast is up to the Cluster, which queues nothing without a time limit, and the time a command
 * may take (ROLES). A worker's command waits out a failover; others are tried again for half a second,
 * and for five.
 */
const CLUSTER_ROLES = {
  producer: { enableOfflineQueue: false, maxRedirections: 5 },
  worker: { maxRedirections: Number.MAX_SAFE_INTEGER },
  admin: { enableOfflineQueue: false, maxRedirections: 50 },
} satisfies Record<Exclude<RedisRole, 'subscriber'>, ClusterOptions>;

/** A master that hangs answers nobody with where its slots are now. */
const LOOK_FOR_NODES_MS = 2_000;

const LONGEST_RETRY_MS: Record<RedisRole, number> = {
  producer: 500,
  worker: 1_000,
  subscriber: 1_000,
  admin: 500,
};

export interface ConnectRedisOptions {
  role: RedisRole;
  /** One URL is a node of a Cluster. Several always are. */
  cluster?: boolean;
  logger?: Pick<Logger, 'info' | 'warn'>;
  /** Shown by `CLIENT LIST`. */
  connectionName?: string;
}

/**
 * A connection to Redis, or to a Cluster, with the options of its role. Returns at once and connects
 * in the background, over and over; `awaitRedis` waits for it. Losing and regaining Redis, or a node
 * of it, is logged once each, not at every attempt. Whoever opens it calls `quit` or `disconnect`.
 *
 * A subscriber to a Cluster is a connection to one of its nodes, as each hears what is published on
 * any; if that node goes away, to the next.
 */
export function connectRedis(
  url: string,
  options: ConnectRedisOptions & { role: 'subscriber' },
): Redis;
export function connectRedis(url: string, options: ConnectRedisOptions): RedisConnection;
export function connectRedis(
  url: string,
  { role, cluster = false, logger, connectionName }: ConnectRedisOptions,
): RedisConnection {
  const address = readRedisAddress(url, { cluster });
  const facts = { role, url: redactUrl(url) };
  const options = {
    ...ROLES[role],
    ...(connectionName !== undefined && { connectionName }),
    connectTimeout: 5_000,
    // From asking a connection to close to closing it without an answer.
    disconnectTimeout: 500,
    keepAlive: 10_000,
  };
  const retryStrategy = (times: number): number => retryDelay(times, LONGEST_RETRY_MS[role]);
  // After a failover the old primary is read-only: look up the address again.
  const reconnectOnError = (error: Error): boolean => error.message.startsWith('READONLY');
  if (address.kind === 'server') {
    const redis = new Redis(address.url, { ...options, retryStrategy, reconnectOnError });
    logStateChanges(redis, facts, logger);
    keepAsking(redis);
    return redis;
  }
  const nodeOptions = { ...options, ...address.login, ...(address.tls && { tls: {} }) };
  if (role === 'subscriber') {
    const redis = listenToOneOf(address.nodes, { ...nodeOptions, retryStrategy });
    logStateChanges(redis, facts, logger);
    keepAsking(redis);
    return redis;
  }
  const redis = new Cluster(address.nodes, {
    ...CLUSTER_ROLES[role],
    redisOptions: nodeOptions,
    retryDelayOnFailover: RETRY_IN_CLUSTER_MS,
    retryDelayOnClusterDown: RETRY_IN_CLUSTER_MS,
    retryDelayOnTryAgain: RETRY_IN_CLUSTER_MS,
    clusterRetryStrategy: retryStrategy,
    slotsRefreshInterval: LOOK_FOR_NODES_MS,
    // A certificate is for a name: it must not be looked up before the connection is made.
    ...(address.tls && { dnsLookup: (name, callback) => callback(null, name) }),
  });
  givenNodes.set(redis, address.nodes);
  // Masters connect with their first command otherwise, which a producer does not wait for. Once the Cluster is ready:
  // before, it asks one of them whether it is, and would take one that is about to connect for one that is away.
  const connectNode = (node: Redis): void => {
    if (node.status === 'wait' && node.options.readOnly !== true)
      node.connect().catch(() => undefined);
  };
  redis.on('ready', () => redis.nodes('master').forEach(connectNode));
  redis.on('+node', (node: Redis) => {
    keepAsking(node);
    if (redis.status === 'ready') connectNode(node);
  });
  logStateChanges(redis, facts, logger);
  logNodes(redis, facts, logger);
  return redis;
}

const ASK_EVERY_MS = 2_500;

/** One that has nothing to ask, or only listens, would never notice that it is not heard. */
function keepAsking(redis: Redis): void {
  const asking = setInterval(() => {
    if (redis.status === 'ready') redis.ping().catch(() => undefined);
  }, ASK_EVERY_MS).unref();
  redis.once('end', () => clearInterval(asking));
}

/** For telling where a Cluster was looked for: others are known only once one of these has answered. */
const givenNodes = new WeakMap<Cluster, readonly RedisNode[]>();

/** Milliseconds before the next attempt: doubling, bounded, spread so that a fleet does not rush. */
function retryDelay(times: number, longest: number): number {
  const delay = Math.min(longest, 25 * 2 ** Math.min(times, 10));
  return Math.round(delay * (0.75 + Math.random() * 0.5));
}

/**
 * Resolves once the connection takes commands. Rejects with a StartError that says what to do when
 * that takes longer than `timeoutMs`.
 */
export async function awaitRedis(
  redis: RedisConnection,
  { timeoutMs = 10_000 }: { timeoutMs?: number } = {},
): Promise<void> {
  if (redis.status === 'ready') return;
  let lastError: Error | undefined;
  const keep = (error: Error): void => void (lastError = error);
  redis.on('error', keep);
  let ready = (): void => {};
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      ready = resolve;
      redis.once('ready', ready);
      timer = setTimeout(() => reject(unreachable(redis, lastError)), timeoutMs);
    });
  } finally {
    clearTimeout(timer);
    redis.off('ready', ready);
    redis.off('error', keep);
  }
}

function unreachable(redis: RedisConnection, error: Error | undefined): StartError {
  const where = isCluster(redis)
    ? (givenNodes.get(redis) ?? []).map(({ host, port }) => `${host}:${port}`).join(', ')
    : addressOf(redis);
  // A Cluster says that no node could be asked, and then why the last one could not.
  const inner: unknown = error && Reflect.get(error, 'lastNodeError');
  const last = inner instanceof Error ? inner : error;
  const code: unknown = last && Reflect.get(last, 'code');
  const why = typeof code === 'string' ? code : (last?.message ?? 'no answer');
  if (/cluster support disabled/i.test(why))
    return new StartError(
      `Redis at ${where} is no Cluster: give one URL in REDIS_URL, and leave out REDIS_CLUSTER.`,
    );
  return new StartError(
    `Redis cannot be reached at ${where} (${redactUrl(why)}): start it, or set REDIS_URL to where it is.`,
  );
}

/** A connection to one Redis, or to all nodes of a Cluster. They take the same commands. */
export type RedisConnection = Redis | Cluster;

/** The servers that take writes, each by itself: the one there is, or the masters of a Cluster. */
export function mastersOf(redis: RedisConnection): Redis[] {
  return isCluster(redis) ? redis.nodes('master') : [redis];
}

export function isCluster(redis: RedisConnection): redis is Cluster {
  return redis.isCluster;
}

/** Host and port of a connection. */
export function addressOf({ options: { host, port, path } }: Redis): string {
  return path ?? `${host ?? 'localhost'}:${port ?? 6379}`;
}

/**
 * A connection for listening to what is published anywhere in a Cluster. Each attempt goes to another
 * node: of those that the one before knew, and those that are given.
 */
function listenToOneOf(
  given: readonly RedisNode[],
  options: Omit<RedisOptions, 'replyMapping'> & { retryStrategy: (times: number) => number },
): Redis {
  let nodes = [...given];
  const next = (): RedisNode => {
    const node = nodes.shift() ?? { host: 'localhost', port: 6379 };
    nodes.push(node);
    return node;
  };
  const redis = new Redis({
    ...options,
    ...next(),
    retryStrategy(times) {
      Object.assign(redis.options, next());
      return options.retryStrategy(times);
    },
  });
  redis.on('ready', () => {
    void nodesKnownBy(redis).then((known) => (nodes = withoutTwins([...known, ...given])));
  });
  return redis;
}

function withoutTwins(nodes: readonly RedisNode[]): RedisNode[] {
  return [...new Map(nodes.map((node) => [`${node.host}:${node.port}`, node])).values()];
}

/** Asked over another connection: one that listens is not to be asked. */
async function nodesKnownBy(redis: Redis): Promise<RedisNode[]> {
  const asking = redis.duplicate({ retryStrategy: null, commandTimeout: 5_000, protocol: 2 });
  asking.on('error', () => undefined);
  try {
    const slots: unknown = await asking.cluster('SLOTS');
    const ranges = Array.isArray(slots) ? (slots as unknown[]) : [];
    return ranges.flatMap((range) =>
      (Array.isArray(range) ? range.slice(2) : []).flatMap((node: unknown) =>
        Array.isArray(node) && typeof node[0] === 'string' && node[0] !== ''
          ? [{ host: node[0], port: Number(node[1]) }]
          : [],
      ),
    );
  } catch {
    return [];
  } finally {
    asking.disconnect();
  }
}

type Log = Pick<Logger, 'info' | 'warn'>;
type Facts = { role: string; url: string };

/** Logs that Redis is lost, and that it is back: once each, however often it is tried. */
function logStateChanges(redis: RedisConnection, facts: Facts, logger: Log | undefined): void {
  // ioredis throws an 'error' that nobody listens to, so a listener stands with or without a logger.
  let away = false;
  const lost = (err: Error | null): void => {
    if (away) return;
    away = true;
    logger?.warn({ ...facts, err }, 'Redis cannot be reached; trying again');
  };
  redis.on('error', lost);
  redis.on('reconnecting', () => lost(null));
  redis.on('ready', () => {
    if (away) logger?.info(facts, 'Redis is back');
    away = false;
  });
}

/** A node that is lost is looked for again by the next command, and its replica takes its place. */
function logNodes(redis: Cluster, facts: Facts, logger: Log | undefined): void {
  const away = new Set<string>();
  redis.on('node error', (err: Error, node: string) => {
    if (away.has(node)) return;
    away.add(node);
    logger?.warn({ ...facts, node, err }, 'a node of Redis cannot be reached');
  });
  redis.on('+node', (node: Redis) => {
    node.on('ready', () => {
      const name = addressOf(node);
      if (away.delete(name)) logger?.info({ ...facts, node: name }, 'a node of Redis is back');
    });
  });
}
