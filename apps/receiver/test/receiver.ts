import { expect, onTestFinished, vi } from 'vitest';
import type { FastifyBaseLogger, FastifyInstance, InjectOptions } from 'fastify';
import {
  awaitRedis,
  connectRedis,
  createLogger,
  readConfig,
  type RedisConnection,
  type Shutdown,
} from '@leadgate/boot';
import type { CaptureLink, RejectedBody, Submission } from '@leadgate/contract';
import {
  confirmWorkspaces,
  createBreaker,
  createLimits,
  createReserver,
  openLinkDirectory,
  pushRejected,
  refillAll,
  type RefillSource,
  type ReservationRequest,
} from '@leadgate/intake';
import { openProducer, startApplyWorker } from '@leadgate/queue';
import { sampleLink, testRedis } from '@leadgate/testkit';
import type { Answer } from '../src/answer.ts';
import { receiverApp, type ReceiverServices } from '../src/app.ts';
import { makeAsset } from '../src/assets.ts';
import { ReceiverConfig } from '../src/config.ts';
import { createServer } from '../src/server.ts';
import { startReceiver } from '../src/start-receiver.ts';

export const CODE = 'q7Zt2mB1y4nK8sV0xWcR5A';
export const LINK = sampleLink({ allowServers: false });
/** What the clock of a receiver under test says: milliseconds since 1970. */
export const NOW = Date.now();

export const logger = createLogger({ name: 'test', level: 'silent', pretty: false });

/** What a test has opened: `closeAll` closes it, in reverse. */
export const closes: (() => Promise<void> | void)[] = [];

export async function closeAll(): Promise<void> {
  for (let close = closes.pop(); close; close = closes.pop()) await close();
}

export interface Answered {
  status: number;
  headers: Headers;
  body: { leadId?: string; code?: string; errors?: { pointer: string }[] };
}

export interface Receiver {
  url: string;
  post(body: string | object, headers?: Record<string, string>): Promise<Answered>;
  ready(): Promise<{ status: number; reasons: string[]; warnings: string[] }>;
  close(): Promise<void>;
}

export async function startOn(
  redisUrl: string,
  env: Record<string, string> = {},
): Promise<Receiver> {
  const mine: (() => Promise<void> | void)[] = [];
  const onClose: Shutdown['add'] = (_name, close) => void mine.push(close);
  const close = async (): Promise<void> => {
    for (let close = mine.pop(); close; close = mine.pop()) await close();
  };
  closes.push(close);
  const config = readConfig(ReceiverConfig, {
    REDIS_URL: redisUrl,
    RECEIVER_HOST: '127.0.0.1',
    RECEIVER_PORT: '0',
    ...env,
  });
  const { url } = await startReceiver(config, { logger, onClose });
  return {
    url,
    close,
    async ready() {
      const answer = await fetch(`${url}/ready`);
      const body = (await answer.json()) as { reasons: string[]; warnings: string[] };
      return { ...body, status: answer.status };
    },
    async post(body, headers = {}) {
      const answer = await fetch(`${url}/ingest/${CODE}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
      return {
        status: answer.status,
        headers: answer.headers,
        body: (await answer.json()) as Answered['body'],
      };
    },
  };
}

export function connectTo(
  url: string,
  role: 'admin' | 'producer' | 'worker' = 'admin',
): RedisConnection {
  const redis = connectRedis(url, { role });
  closes.push(() => redis.disconnect());
  return redis;
}

/** What the worker does before a receiver is ready: links and markers, here of one link. */
export async function refill(
  redis: RedisConnection,
  link: Partial<CaptureLink> = {},
): Promise<void> {
  const source: RefillSource = {
    directoryRevision: () => Promise.resolve(1),
    workspaceIds: () => Promise.resolve([LINK.workspaceId]),
    async *links() {
      yield await Promise.resolve([{ code: CODE, link: { ...LINK, ...link } }]);
    },
    async *identities() {
      yield await Promise.resolve([]);
    },
    highestOrders: () => Promise.resolve(new Map()),
  };
  await refillAll(redis, source);
}

/** What the worker does for a Redis that started again and lost nothing. */
export async function confirm(redis: RedisConnection): Promise<void> {
  const source = { highestOrders: () => Promise.resolve(new Map<string, number>()) };
  await confirmWorkspaces(redis, source, [LINK.workspaceId]);
}

/** Takes every job out of the queue, as the worker decodes them: each submission once, as it is applied once. */
export async function takeJobs(url: string, count: number): Promise<Submission[]> {
  const taken = new Map<string, Submission>();
  const worker = await startApplyWorker(connectTo(url, 'worker'), {
    concurrency: 50,
    logger,
    apply: (submissions) => {
      for (const one of submissions) taken.set(`${one.id} ${one.answeredLeadId ?? ''}`, one);
      return Promise.resolve(submissions.map(() => ({ kind: 'settled' })));
    },
  });
  await vi.waitFor(() => expect(taken.size).toBeGreaterThanOrEqual(count), { timeout: 15_000 });
  await worker.close({ timeoutMs: 5_000 });
  return [...taken.values()];
}

/** The routes of a receiver on a real Redis, with its directory, reserver and queue. */
export interface ReceiverApp {
  app: FastifyInstance;
  /** The connection that reservations and jobs take: disconnected, Redis is away. */
  redis: RedisConnection;
  /** What Redis was asked to reserve, whatever came of it. */
  reserved: ReservationRequest[];
  /** What the queue has taken. */
  enqueued: Submission[];
  rejected: RejectedBody[];
  answers: Answer[];
  /** What was counted of the link. */
  counted: string[];
  /** The only lead that the queue has taken. */
  submission(): Submission;
  post(body: string | object | Buffer, options?: Omit<InjectOptions, 'method' | 'body'>): Response;
}

type Response = ReturnType<FastifyInstance['inject']> &
  Promise<Awaited<ReturnType<FastifyInstance['inject']>>>;

export interface AppOptions {
  link?: Partial<CaptureLink>;
  services?: Partial<Omit<ReceiverServices, 'reserver' | 'producer'>>;
  server?: Partial<Parameters<typeof createServer>[0]>;
  logger?: FastifyBaseLogger;
  /** Where it runs, as it stands there: else a Redis of this file's, emptied and refilled. */
  redisUrl?: string;
  /** Waited for before Redis is asked. */
  beforeReserve?: (redis: RedisConnection) => Promise<void> | void;
  beforeEnqueue?: (redis: RedisConnection) => Promise<void> | void;
}

let ofThisFile: ReturnType<typeof testRedis> | undefined;

/** Opens one for the test that runs, which closes it at its end. */
export async function openApp(options: AppOptions = {}): Promise<ReceiverApp> {
  const redisUrl = options.redisUrl ?? (await emptyRedis(options.link));
  const closing: (() => Promise<void> | void)[] = [];
  onTestFinished(async () => {
    for (const close of closing.reverse()) await close();
  });
  const connect = (role: 'producer' | 'subscriber') => {
    const connection = connectRedis(redisUrl, { role });
    closing.push(() => connection.disconnect());
    return connection;
  };
  const redis = connect('producer');
  await awaitRedis(redis);
  const directory = await openLinkDirectory(redis, connect('subscriber'), { logger });
  closing.push(() => directory.close());
  const producer = await openProducer(redis, { logger });
  closing.push(() => producer.close());
  const limits = createLimits();
  const reserver = createReserver(redis, { limits });

  const reserved: ReservationRequest[] = [];
  const enqueued: Submission[] = [];
  const rejected: RejectedBody[] = [];
  const answers: Answer[] = [];
  const counted: string[] = [];
  const app = createServer(
    {
      TRUST_PROXY: [],
      REQUEST_TIMEOUT_MS: 10_000,
      KEEP_ALIVE_TIMEOUT_MS: 72_000,
      ...options.server,
    },
    options.logger ?? logger,
  );
  await app.register(receiverApp, {
    config: { RATE_LIMIT_LINK: 60_000, RATE_LIMIT_ADDRESS: 6_000, KEEP_ADDRESS: 'full' },
    directory,
    limits,
    linkCounter: { count: (_link, what) => void counted.push(what) },
    reserver: {
      async reserve(request) {
        reserved.push(request);
        await options.beforeReserve?.(redis);
        return reserver.reserve(request);
      },
    },
    producer: {
      async enqueue(submission, background) {
        await options.beforeEnqueue?.(redis);
        await producer.enqueue(submission, background);
        enqueued.push(submission);
      },
    },
    breaker: createBreaker(),
    backpressure: () => null,
    spool: null,
    isOnDisk: () => true,
    verifyCaptcha: () => Promise.resolve('passed'),
    openSecret: (stored) => stored,
    async pushRejected(body) {
      rejected.push(body);
      await pushRejected(redis, body);
    },
    health: {
      cutOffMs: () => null,
      readiness: () => Promise.resolve({ ready: true, reasons: [], warnings: [] }),
      stop: () => undefined,
    },
    demo: null,
    snippet: makeAsset(Buffer.from('leadgate()'), 'text/javascript; charset=utf-8'),
    clock: () => NOW,
    onFailure: () => undefined,
    onAnswer: (answer) => void answers.push(answer),
    ...options.services,
  });
  await app.ready();
  closing.push(() => app.close());
  return {
    ...{ app, redis, reserved, enqueued, rejected, answers, counted },
    submission() {
      const [first, ...rest] = enqueued;
      if (first === undefined || rest.length > 0)
        throw new Error(`${enqueued.length} leads were enqueued`);
      return first;
    },
    post: (body, inject = {}) =>
      app.inject({
        method: 'POST',
        url: `/ingest/${CODE}`,
        ...inject,
        headers: { 'content-type': 'application/json', ...inject.headers },
        body,
      }) as Response,
  };
}

/** The Redis of this test file, with one workspace and its link. */
export async function emptyRedis(link: Partial<CaptureLink> = {}): Promise<string> {
  const { url, flush } = await (ofThisFile ??= testRedis());
  await flush();
  const admin = connectRedis(url, { role: 'admin' });
  await refill(admin, link).finally(() => admin.disconnect());
  return url;
}
