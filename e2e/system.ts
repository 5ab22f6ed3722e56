import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { connectRedis } from '@leadgate/boot';
import { queueCounts } from '@leadgate/queue';
import { putLinks } from '@leadgate/intake';
import { linkEntries, migrate, openStore, type Store } from '@leadgate/store';
import { testDatabase, testRedis, type OwnCluster, type OwnServer } from '@leadgate/testkit';
import { vi } from 'vitest';
import { makeLink, makeWorkspace } from '../chaos/src/targets.ts';
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

export interface SystemOptions {
  receivers?: number;
  workers?: number;
  receiverEnv?: Env;
  workerEnv?: Env;
  cliEnv?: Env;
  /** Servers of the test's own, to be killed or filled; else the shared ones. */
  redis?: Pick<OwnServer, 'url'> | Pick<OwnCluster, 'urls'>;
  postgres?: Pick<OwnServer, 'url'> & { isMigrated?: true };
}

type Env = Record<string, string>;

export type System = Awaited<ReturnType<typeof startSystem>>;

/** Receivers and workers as processes, from what was built, on a database and a Redis of their own. */
export async function startSystem(options: SystemOptions = {}) {
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
  const { DATABASE_URL, REDIS_URL, LOG_LEVEL, ...deliveries } = {
    ...{ DATABASE_URL: database.url, REDIS_URL: redisServer.url, LOG_LEVEL: 'info' },
    SECRETS_KEY: 'a key of thirty-two characters or more',
    DELIVERY_ALLOW_NETWORKS: '127.0.0.0/8',
  };
  const servers = { DATABASE_URL, REDIS_URL, LOG_LEVEL };
  const { SECRETS_KEY } = deliveries;

  const start = async (
    app: AppOptions['app'],
    env: Env,
    where: Pick<AppOptions, 'from' | 'address'> = {},
  ): Promise<Member> => {
    const log = join(logs, `${app}-${++started}.log`);
    const member = await startMember({ app, log, env, ...where });
    members.push(member);
    return member;
  };

  const runReceiver = (env: Env, where: Parameters<typeof start>[2]): Promise<Member> =>
    start('receiver', { REDIS_URL, LOG_LEVEL, SECRETS_KEY, ...options.receiverEnv, ...env }, where);

  /** `from`: the folder of another build. */
  const startReceiver = async (env: Env = {}, from?: string): Promise<Receiver> => {
    const member = await runReceiver(env, from === undefined ? {} : { from });
    const receiver = { url: member.url, member };
    receivers.push(receiver);
    return receiver;
  };

  const startWorker = async (env: Env = {}, from?: string): Promise<Member> => {
    const settings = { ...servers, ...options.workerEnv, ...env };
    const member = await start('worker', settings, from === undefined ? {} : { from });
    workers.push(member);
    return member;
  };

  // The worker first: it sets the marker of the directory that makes a receiver ready.
  await Promise.all(Array.from({ length: options.workers ?? 1 }, () => startWorker()));
  await Promise.all(Array.from({ length: options.receivers ?? 1 }, () => startReceiver()));

  let made = 0;
  return {
    databaseUrl: DATABASE_URL,
    redisUrl: REDIS_URL,
    ...{ receivers, workers, redis, startReceiver, startWorker },
    /** Runs the command line and parses what it printed with --json. */
    cli: <Result>(...args: string[]) =>
      leadgate({ ...servers, ...deliveries, ...options.cliEnv }, args) as Promise<Result>,
    /** It may call endpoints on this machine. */
    startDeliverer: (env: Env = {}) =>
      start('deliverer', { DATABASE_URL, LOG_LEVEL, ...deliveries, ...env }),
    /** `url`: where its API is. */
    startConsole: (env: Env = {}) => {
      const CONSOLE_SECRET = 'a secret of the tests, long enough to sign';
      return start('console', { ...servers, SECRETS_KEY, CONSOLE_SECRET, ...env });
    },
    /** Stops it by SIGTERM and starts it again at its address, ready. Resolves to its exit code. */
    restartReceiver: async (receiver: Receiver, env: Env = {}): Promise<number | null> => {
      const code = await receiver.member.stop();
      const { port, hostname: host } = new URL(receiver.url);
      const address: Address = { host, port: Number(port), url: receiver.url };
      receiver.member = await runReceiver(env, { address });
      return code;
    },
    /** Stops it by SIGTERM and starts another one, ready. Resolves to its exit code. */
    restartWorker: async (worker: Member): Promise<number | null> => {
      const code = await worker.stop();
      workers.splice(workers.indexOf(worker), 1);
      await startWorker();
      return code;
    },
    /** Waits until no job is waiting, delayed or active. */
    settle: async (timeout = 30_000): Promise<void> => {
      await vi.waitFor(
        async () => {
          const counts = await queueCounts(redis);
          const left = counts.waiting + counts.active + counts.delayed;
          if (left > 0) throw new Error(`${left} jobs are left`);
        },
        { timeout, interval: 20 },
      );
    },
    query: async <Row extends pg.QueryResultRow>(sql: string, values: unknown[] = []) =>
      (await pool.query<Row>(sql, values)).rows,
    /** A fresh workspace with an open link, made without the command line, which takes longer. */
    openLink: async (settings: Parameters<typeof makeLink>[3] = {}) => {
      const workspace = `workspace-${++made}`;
      const workspaceId = await makeWorkspace(store, redis, workspace);
      return { workspace, workspaceId, ...(await makeLink(store, redis, workspaceId, settings)) };
    },
    /** Changes a link as the operators' side does: Postgres, then Redis. */
    changeLink: async (linkId: string, change: (store: Store) => Promise<unknown>) => {
      await change(store);
      await putLinks(redis, await linkEntries(store, linkId));
    },
    stop: async (): Promise<void> => {
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
