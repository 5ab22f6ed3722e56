import { sign } from '@fastify/cookie';
import { connectRedis, createLogger, Keyring, type RedisConnection } from '@leadgate/boot';
import type { Role } from '@leadgate/contract';
import { createReserver } from '@leadgate/intake';
import { Runner } from '@leadgate/operations';
import {
  type DashboardQueues,
  openDashboardQueues,
  openFailedJobs,
  openProducer,
} from '@leadgate/queue';
import { createToken, erasureKeyOf, openStore, type Store } from '@leadgate/store';
import type { FastifyInstance, InjectOptions } from 'fastify';
import { createHash, randomUUID } from 'node:crypto';
import { consoleApp } from '../src/app.ts';
import { consoleMetrics } from '../src/routes/health.ts';
import { createServer } from '../src/server.ts';
import { connectionsOf } from '../src/services.ts';

const SECRET = 'a secret of the tests, long enough to sign';

export const PASSWORD = 'correct horse battery';

/** A console on real servers, and requests to it without a network. */
export interface ConsoleUnderTest {
  app: FastifyInstance;
  store: Store;
  redis: RedisConnection;
  queues: DashboardQueues;
  /** The lines of its log. */
  log: string[];
  /** Every route that it has, its method included. */
  routes: { method: string; url: string }[];
  /** A request of nobody. */
  ask(method: InjectOptions['method'], url: string, options?: InjectOptions): Promise<Answer>;
  /** Adds an operator with a session, and returns what its cookie holds. */
  sessionOf(name: string, role: Role): Promise<string>;
  /** Adds an operator with a session; a request with its cookie, from a page of the console. */
  signIn(name: string, role: Role): Promise<Ask>;
  /** A request with an API token of the role. */
  withToken(role: Role, workspaceId?: string): Promise<Ask>;
  close(): Promise<void>;
}

export type Answer = Awaited<ReturnType<FastifyInstance['inject']>>;
export type Ask = ConsoleUnderTest['ask'];

/** What browsers send along with what a page of the console does. */
export const FROM_A_PAGE = { 'sec-fetch-site': 'same-origin' };

/** Opens a console on the given servers. Whoever opens it closes it. */
export async function consoleUnderTest(servers: {
  databaseUrl: string;
  redisUrl: string;
  erasureLedger?: string;
}): Promise<ConsoleUnderTest> {
  const log: string[] = [];
  const logger = createLogger({
    name: 'console',
    level: 'trace',
    destination: { write: (line: string) => void log.push(line) },
  });
  const redis = connectRedis(servers.redisUrl, { role: 'admin' });
  const store = openStore({
    ...{ url: servers.databaseUrl, poolSize: 4 },
    erasureKey: erasureKeyOf(SECRET),
  });
  const queues = openDashboardQueues(redis, { logger });
  const producer = await openProducer(redis, { logger });
  const failed = openFailedJobs(redis);
  const app = createServer({ trustProxy: ['127.0.0.1'] }, logger);
  const routes: ConsoleUnderTest['routes'] = [];
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) routes.push({ method: one, url });
  });
  const reserver = createReserver(redis);
  const runner = new Runner();
  const keyring = new Keyring(SECRET);
  const receiverUrl = 'https://leads.example.com';
  await app.register(consoleApp, {
    connections: connectionsOf({
      ...{ store, redis, reserver, producer, failed, receiverUrl, keyring, runner },
      erasureLedger: servers.erasureLedger ?? null,
      consentKey: SECRET,
      deliveries: { allowNetworks: ['127.0.0.0/8'] },
    }),
    store,
    redis,
    failed,
    queues,
    metrics: consoleMetrics(redis, store),
    secret: SECRET,
    keyring,
  });
  await app.ready();

  const ask: Ask = (method, url, options = {}) =>
    app.inject({ ...options, ...(method !== undefined && { method }), url });
  const withHeaders =
    (headers: Record<string, string>): Ask =>
    (method, url, options = {}) =>
      ask(method, url, { ...options, headers: { ...headers, ...options.headers } });
  async function sessionOf(name: string, role: Role): Promise<string> {
    const token = randomUUID();
    await store.prisma.operator.create({
      data: {
        id: randomUUID(),
        name,
        role,
        passwordHash: 'none fits',
        sessions: {
          create: {
            tokenHash: new Uint8Array(createHash('sha256').update(token).digest()),
            expiresAt: new Date(Date.now() + 3_600_000),
          },
        },
      },
    });
    return encodeURIComponent(sign(token, SECRET));
  }
  return {
    app,
    store,
    redis,
    queues,
    log,
    routes,
    ask,
    sessionOf,
    signIn: async (name, role) =>
      withHeaders({ ...FROM_A_PAGE, cookie: `leadgate=${await sessionOf(name, role)}` }),

    async withToken(role, workspaceId) {
      const created = await createToken(store, {
        ...{ name: `${role} ${Math.random()}`, role, workspaceId: workspaceId ?? null, days: 1 },
        createdBy: { name: 'tests', operatorId: null },
      });
      if (created.kind !== 'created') throw new Error(created.kind);
      return withHeaders({ authorization: `Bearer ${created.secret}` });
    },
    async close() {
      await app.close();
      await runner.close();
      await Promise.all([queues.close(), producer.close(), failed.close()]);
      await store.close();
      redis.disconnect();
    },
  };
}

/** Posts a form as a browser does. */
export function postForm(
  ask: Ask,
  url: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return ask('POST', url, {
    payload: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });
}
