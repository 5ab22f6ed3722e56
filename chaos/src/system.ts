import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { connectRedis, type RedisConnection } from '@leadgate/boot';
import { queueCounts } from '@leadgate/queue';
import { migrate } from '@leadgate/store';
import { startOwnCluster } from '../../scripts/servers/own-cluster.js';
import {
  startOwnPostgres,
  startOwnRedis,
  type OwnServer,
} from '../../scripts/servers/own-server.js';
import { endLeftoverServers, makeHome, processLedger } from '../../scripts/servers/private-home.js';
import { waitUntil } from '../../scripts/servers/process.js';
import { withPostgres } from '../../scripts/servers/session.js';
import { openSilentProxy, type Network } from '../../scripts/servers/silent-proxy.js';
import { SECRETS_KEY, openEndpoint } from './endpoints.ts';
import { createOlderRedis, type Shard } from './older-redis.ts';
import { startMember, type Crash, type Member } from './member.ts';
import { makeTargets } from './targets.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The one Redis there is, or the nodes of a Cluster. */
export interface Redises {
  /** As REDIS_URL takes it. */
  url: string;
  nodes: readonly OwnServer[];
  /** The same, through the networks. */
  urlOfProcesses: string;
  /**
   * Between the processes and the one Redis; or between one node of a Cluster, a master or a replica, and all
   * others, either way.
   */
  networks: (nth: number) => readonly Network[];
  /** The nodes by what they hold: one, or the three masters each with its replica. */
  shards: () => Promise<Shard[]>;
  stop: () => Promise<void>;
}

export interface SystemOptions {
  /** On a Redis Cluster of three masters and three replicas, with three shards. */
  cluster?: boolean;
  receivers: number;
  workers: number;
  /** Milliseconds that a worker which went away keeps its jobs. */
  jobLockMs: number;
}

/** Few enough to use up, more than the workers need. */
const MAX_CONNECTIONS = 48;

const DELIVERERS = 2;

export type System = Awaited<ReturnType<typeof startSystem>>;

/** Everything that `npm start` would run, on servers of its own. */
export async function startSystem(options: SystemOptions) {
  await endLeftoverServers();
  const home = await makeHome();
  const ledger = await processLedger();
  const [redis, postgres] = await Promise.all([
    options.cluster ? startCluster() : startSingle(),
    startOwnPostgres({ max_connections: MAX_CONNECTIONS.toString() }),
  ]);
  await migrate(postgres.url, { directory: join(ROOT, 'prisma/migrations') });
  const targets = await makeTargets(redis.url, postgres.url);
  /** Between the processes and Postgres. */
  const networkOfPostgres = await openSilentProxy(postgres.url);
  /** Processes that ended and had not been asked to. */
  const crashes: Crash[] = [];
  const start = (
    many: number,
    app: 'receiver' | 'worker' | 'deliverer',
    own: Record<string, string>,
  ): Promise<Member[]> => {
    const env = {
      PATH: process.env.PATH,
      REDIS_URL: redis.urlOfProcesses,
      LOG_LEVEL: 'info',
      ...own,
    };
    return Promise.all(
      Array.from({ length: many }, (_, n) => {
        const name = `${app} ${n + 1}`;
        return startMember({
          ...{ app, name, env, log: logOf(home.path, name), onProcess: ledger.add },
          onCrash: (ending) => void crashes.push(ending),
        });
      }),
    );
  };
  const spools = join(home.path, 'spool');
  mkdirSync(spools);
  const workers = await start(options.workers, 'worker', {
    DATABASE_URL: networkOfPostgres.url,
    JOB_LOCK_MS: options.jobLockMs.toString(),
  });
  const receivers = await start(options.receivers, 'receiver', {
    SPOOL_DIR: spools,
    ...(options.cluster && { QUEUE_SHARDS: '3', REDIS_WAIT_REPLICAS: '1' }),
    // The least there is: to be filled.
    SPOOL_MAX_BYTES: (2 ** 20).toString(),
    // All senders have one address here.
    RATE_LIMIT_ADDRESS: '10000000',
    RATE_LIMIT_LINK: '10000000',
  });

  /** One of each workspace, told of all its leads. */
  const endpoints = await Promise.all(
    [...new Set(targets.map(({ workspaceId }) => workspaceId))].map((workspaceId, n) =>
      openEndpoint(`endpoint ${n + 1}`, workspaceId, postgres.url),
    ),
  );
  const deliverers = await start(DELIVERERS, 'deliverer', {
    DATABASE_URL: networkOfPostgres.url,
    DATABASE_POOL_SIZE: '2',
    SECRETS_KEY,
    DELIVERY_ALLOW_NETWORKS: '127.0.0.0/8',
    DELIVERY_TIMEOUT_MS: '1000',
    LANE_LEASE_MS: '2000',
  });

  const members = [...receivers, ...workers, ...deliverers];
  return {
    ...{ redis, postgres, networkOfPostgres, receivers, workers, deliverers, endpoints, targets },
    crashes,
    older: createOlderRedis(home.path, redis.shards, startAgain),
    /** Logs, the ledger, spools. Left where it is when the audit finds something. */
    folder: home.path,
    /** How often a worker spent an attempt of a job, by their logs. */
    attemptsSpent: () => attemptsSpent(home.path, workers),
    /** Waits until every process is ready and nothing waits any more. False when the time is over. */
    settle: (timeoutMs: number) => settle(members, redis.url, postgres.url, timeoutMs),
    /** Ends everything. `keep` leaves the folder. */
    close: async ({ keep }: { keep: boolean }): Promise<void> => {
      await Promise.all(members.map((member) => member.end('SIGKILL')));
      await Promise.all(endpoints.map((endpoint) => endpoint.close()));
      await networkOfPostgres.close();
      await Promise.all([redis.stop(), postgres.stop()]);
      if (!keep) home.remove();
    },
  };
}

/** Of the three masters. */
const FIRST_SLOTS = [0, 5_462, 10_923];

async function startSingle(): Promise<Redises> {
  const server = await startOwnRedis();
  const network = await openSilentProxy(server.url);
  const shards = () => Promise.resolve<Shard[]>([[server]]);
  return {
    url: server.url,
    urlOfProcesses: network.url,
    nodes: [server],
    networks: () => [network],
    shards,
    stop: async () => {
      await network.close();
      await server.stop();
    },
  };
}

async function startCluster(): Promise<Redises> {
  const cluster = await startOwnCluster({ networks: true });
  const { nodes } = cluster;
  const url = cluster.urls.join(',');
  const shards = () =>
    Promise.all(
      FIRST_SLOTS.map(async (slot): Promise<Shard> => [
        await cluster.masterOf(slot),
        ...(await cluster.replicasOf(slot)),
      ]),
    );
  const networks = (nth: number) => {
    const node = nodes[nth % nodes.length];
    return node === undefined ? [] : cluster.networksOf(node);
  };
  const stop = () => cluster.stop();
  return { url, urlOfProcesses: url, nodes, networks, shards, stop };
}

/** After a kill: the processes of a Postgres may need a moment to notice. */
export async function startAgain(server: OwnServer): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await server.restart();
    } catch (error) {
      if (attempt === 10) throw error;
      await delay(500);
    }
  }
}

async function attemptsSpent(folder: string, workers: readonly Member[]): Promise<number> {
  const logs = await Promise.all(workers.map(({ name }) => readFile(logOf(folder, name), 'utf8')));
  return logs.join('').split('"msg":"attempt failed"').length - 1;
}

const logOf = (folder: string, name: string): string =>
  join(folder, `${name.replace(' ', '-')}.log`);

async function settle(
  members: Member[],
  redisUrl: string,
  databaseUrl: string,
  timeoutMs: number,
): Promise<boolean> {
  const redis = connectRedis(redisUrl, { role: 'admin' });
  const isQuietNow = () => isQuiet(members, redis, databaseUrl).catch(() => false);
  return waitUntil(isQuietNow, timeoutMs, 100).finally(() => redis.disconnect());
}

async function isQuiet(
  members: Member[],
  redis: RedisConnection,
  databaseUrl: string,
): Promise<boolean> {
  const ready = await Promise.all(members.map(isReady));
  if (ready.includes(false)) return false;
  const { waiting, active, delayed } = await queueCounts(redis);
  return waiting + active + delayed === 0 && (await deliveriesWait(databaseUrl)) === 0;
}

const deliveriesWait = (databaseUrl: string): Promise<number> =>
  withPostgres(databaseUrl, async (client) => {
    const { rows } = await client.query<{ n: number }>(
      'SELECT count(*)::float8 AS n FROM delivery WHERE due_at IS NOT NULL',
    );
    return rows[0]?.n ?? 0;
  });

/** A receiver whose spool is not empty says so among its warnings. */
async function isReady({ url }: Member): Promise<boolean> {
  const response = await fetch(`${url}/ready`, { signal: AbortSignal.timeout(2_000) });
  const { warnings = [] } = (await response.json()) as { warnings?: string[] };
  return response.ok && !warnings.some((warning) => warning.includes('in the spool'));
}
