import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { connectRedis, type RedisConnection } from '@leadgate/boot';
import { LINK_DEFAULTS } from '@leadgate/contract';
import { queueCounts } from '@leadgate/queue';
import { openWorkspace, putLinks } from '@leadgate/intake';
import {
  createLink,
  createWorkspace,
  linkEntries,
  migrate,
  openStore,
  type Store,
} from '@leadgate/store';
import { testDatabase, testRedis, type OwnCluster, type OwnServer } from '@leadgate/testkit';
import { vi } from 'vitest';
import { leadgate, startApp, type Address, type AppOptions } from '../scripts/launcher/apps.js';
import { processLedger } from '../scripts/servers/private-home.js';
import { send } from '../scripts/servers/process.js';

const { PATH, NODE_COMPILE_CACHE } = process.env;
const root = fileURLToPath(new URL('..', import.meta.url));

/** A process of the system under test. */
export interface Member {
  readonly name: string;
  readonly url: string;
  /** All that it printed, for messages and for grepping. */
  output(): string;
  /** Sends a signal that it outlives, or whose end is waited for otherwise. */
  send(signal: NodeJS.Signals): void;
  /** Sends a signal and waits for the end. Resolves to the exit code, null after a kill. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** A receiver, and the base address that it keeps through restarts. */
export interface Receiver {
  url: string;
  member: Member;
}

/** The real processes on a database and a Redis of their own. */
export interface System {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly receivers: Receiver[];
  readonly workers: Member[];
  readonly redis: RedisConnection;
  query<Row extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>;
  /** Runs the command line and parses what it printed with --json. */
  cli<Result>(...args: string[]): Promise<Result>;
  /** A fresh workspace with an open link, made without the command line, which takes longer. */
  openLink(
    settings?: Partial<Parameters<typeof createLink>[2]>,
  ): Promise<{ workspace: string; workspaceId: string; linkId: string; code: string }>;
  /** Changes a link as the operators' side does: Postgres, then Redis. */
  changeLink(linkId: string, change: (store: Store) => Promise<unknown>): Promise<void>;
  /** `from`: the folder of another build. */
  startReceiver(env?: Record<string, string>, from?: string): Promise<Receiver>;
  startWorker(env?: Record<string, string>, from?: string): Promise<Member>;
  /** It may call endpoints on this machine. */
  startDeliverer(env?: Record<string, string>): Promise<Member>;
  /** `url`: where its API is. */
  startConsole(env?: Record<string, string>): Promise<Member>;
  /** Stops it by SIGTERM and starts it again at its address, ready. Resolves to its exit code. */
  restartReceiver(receiver: Receiver, env?: Record<string, string>): Promise<number | null>;
  /** Stops it by SIGTERM and starts another one, ready. Resolves to its exit code. */
  restartWorker(worker: Member): Promise<number | null>;
  /** Waits until no job is waiting, delayed or active. */
  settle(timeoutMs?: number): Promise<void>;
  stop(): Promise<void>;
}

export interface SystemOptions {
  receivers?: number;
  workers?: number;
  receiverEnv?: Record<string, string>;
  workerEnv?: Record<string, string>;
  cliEnv?: Record<string, string>;
  /** Servers of the test's own, to be killed or filled; else the shared ones. */
  redis?: Pick<OwnServer, 'url'> | Pick<OwnCluster, 'urls'>;
  postgres?: Pick<OwnServer, 'url'> & { isMigrated?: true };
}

const OPEN_LINK = { ...LINK_DEFAULTS, expiresAt: null };

/** Starts receivers and workers as processes, from what was built. */
export async function startSystem(options: SystemOptions = {}): Promise<System> {
  const database =
    options.postgres === undefined ? await testDatabase() : await ownDatabase(options.postgres);
  const redisServer = options.redis === undefined ? await testRedis() : ownRedis(options.redis);
  const redis = connectRedis(redisServer.url, { role: 'worker' });
  const pool = new pg.Pool({ connectionString: database.url, max: 4 });
  pool.on('error', () => undefined);
  const store = openStore({ url: database.url, poolSize: 2 });
  const logs = mkdtempSync(join(tmpdir(), 'leadgate-e2e-'));
  let started = 0;
  const members: Member[] = [];
  const receivers: Receiver[] = [];
  const workers: Member[] = [];
  const servers = { DATABASE_URL: database.url, REDIS_URL: redisServer.url, LOG_LEVEL: 'info' };
  const deliveries = {
    SECRETS_KEY: 'a key of thirty-two characters or more',
    DELIVERY_ALLOW_NETWORKS: '127.0.0.0/8',
  };

  const start = async (
    app: AppOptions['app'],
    own: Pick<AppOptions, 'env' | 'from' | 'address'>,
  ): Promise<Member> => {
    const log = join(logs, `${app}-${++started}.log`);
    const member = await startMember({ app, log, ...own });
    members.push(member);
    return member;
  };

  const runReceiver = async (
    env: Record<string, string>,
    where: Pick<AppOptions, 'from' | 'address'>,
  ): Promise<Receiver> => {
    const { REDIS_URL, LOG_LEVEL } = servers;
    const { SECRETS_KEY } = deliveries;
    const settings = { REDIS_URL, LOG_LEVEL, SECRETS_KEY, ...options.receiverEnv, ...env };
    const member = await start('receiver', { env: settings, ...where });
    return { url: member.url, member };
  };

  const startReceiver: System['startReceiver'] = async (env = {}, from) => {
    const receiver = await runReceiver(env, from === undefined ? {} : { from });
    receivers.push(receiver);
    return receiver;
  };

  const startWorker: System['startWorker'] = async (env = {}, from) => {
    const member = await start('worker', {
      env: { ...servers, ...options.workerEnv, ...env },
      ...(from && { from }),
    });
    workers.push(member);
    return member;
  };

  const startDeliverer: System['startDeliverer'] = (env = {}) => {
    const { DATABASE_URL, LOG_LEVEL } = servers;
    return start('deliverer', { env: { DATABASE_URL, LOG_LEVEL, ...deliveries, ...env } });
  };

  const startConsole: System['startConsole'] = (env = {}) => {
    const { SECRETS_KEY } = deliveries;
    const CONSOLE_SECRET = 'a secret of the tests, long enough to sign';
    return start('console', { env: { ...servers, SECRETS_KEY, CONSOLE_SECRET, ...env } });
  };

  const cli = <Result>(...args: string[]) =>
    leadgate({ ...servers, ...deliveries, ...options.cliEnv }, args) as Promise<Result>;

  const settle: System['settle'] = async (timeoutMs = 30_000) => {
    await vi.waitFor(
      async () => {
        const counts = await queueCounts(redis);
        const left = counts.waiting + counts.active + counts.delayed;
        if (left > 0) throw new Error(`${left} jobs are left`);
      },
      { timeout: timeoutMs, interval: 20 },
    );
  };

  // The worker first: it sets the marker of the directory that makes a receiver ready.
  await Promise.all(Array.from({ length: options.workers ?? 1 }, () => startWorker()));
  await Promise.all(Array.from({ length: options.receivers ?? 1 }, () => startReceiver()));

  let made = 0;
  return {
    databaseUrl: database.url,
    redisUrl: redisServer.url,
    receivers,
    workers,
    redis,
    cli,
    settle,
    startReceiver,
    startWorker,
    startDeliverer,
    startConsole,
    restartReceiver: async (receiver, env = {}) => {
      const code = await receiver.member.stop();
      const { port, hostname: host } = new URL(receiver.url);
      const address: Address = { host, port: Number(port), url: receiver.url };
      receiver.member = (await runReceiver(env, { address })).member;
      return code;
    },
    restartWorker: async (worker) => {
      const code = await worker.stop();
      workers.splice(workers.indexOf(worker), 1);
      await startWorker();
      return code;
    },
    query: async <Row extends pg.QueryResultRow>(sql: string, values: unknown[] = []) =>
      (await pool.query<Row>(sql, values)).rows,
    openLink: async (settings = {}) => {
      const name = `workspace-${++made}`;
      const creation = await createWorkspace(store, { name, country: 'BR', dummyPhones: [] });
      if (creation.kind !== 'created') throw new Error(`workspace: ${creation.kind}`);
      await openWorkspace(redis, creation.workspace.id);
      const linking = await createLink(store, creation.workspace.id, { ...OPEN_LINK, ...settings });
      if (linking.kind !== 'created') throw new Error(`link: ${linking.kind}`);
      await putLinks(redis, await linkEntries(store, linking.link.id));
      const { id: linkId, codes } = linking.link;
      return {
        workspace: name,
        workspaceId: creation.workspace.id,
        linkId,
        code: codes[0]?.code ?? '',
      };
    },
    changeLink: async (linkId, change) => {
      await change(store);
      await putLinks(redis, await linkEntries(store, linkId));
    },
    stop: async () => {
      await Promise.all(receivers.map(({ member }) => member.stop()));
      await Promise.all(members.map((member) => member.stop()));
      await pool.end();
      redis.disconnect();
      await database.drop();
      await store.close();
      await redisServer.flush();
      rmSync(logs, { recursive: true });
    },
  };
}

async function ownDatabase(
  server: NonNullable<SystemOptions['postgres']>,
): Promise<{ url: string; drop: () => Promise<void> }> {
  if (server.isMigrated !== true)
    await migrate(server.url, { directory: join(root, 'prisma/migrations') });
  return { url: server.url, drop: () => Promise.resolve() };
}

function ownRedis(server: NonNullable<SystemOptions['redis']>): {
  url: string;
  flush: () => Promise<void>;
} {
  const url = 'urls' in server ? server.urls.join(',') : server.url;
  return { url, flush: () => Promise.resolve() };
}

async function startMember({ env, ...options }: AppOptions): Promise<Member> {
  const { add } = await processLedger();
  const { url, process } = await startApp({
    ...options,
    // As the command line and vitest.config.ts have it: most of these live for seconds.
    flags: ['--liftoff-only'],
    env: { PATH, NODE_COMPILE_CACHE, ...env },
    onProcess: add,
  });
  return {
    name: process.name,
    url,
    output: () => readFileSync(options.log, 'utf8'),
    send: (signal) => send(process.pid, signal),
    stop: async (signal = 'SIGTERM') => {
      send(process.pid, signal);
      return (await process.exited).code;
    },
  };
}
