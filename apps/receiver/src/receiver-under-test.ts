import {
  connectRedis,
  createLogger,
  readConfig,
  type RedisConnection,
  type Shutdown,
} from '@leadgate/boot';
import type { CaptureLink, RefillSource, Submission } from '@leadgate/contract';
import { confirmWorkspaces, refillAll } from '@leadgate/intake';
import { startApplyWorker } from '@leadgate/queue';
import { expect, vi } from 'vitest';
import { ReceiverConfig } from './config.ts';
import { CODE, LINK } from './fake-services.ts';
import { startReceiver } from './start-receiver.ts';

export const logger = createLogger({ name: 'test', level: 'silent', pretty: false });

/** What a test has opened: `closeAll` closes it, in reverse. */
export const closes: (() => Promise<void> | void)[] = [];

export async function closeAll(): Promise<void> {
  for (let close = closes.pop(); close; close = closes.pop()) await close();
}

export interface Answer {
  status: number;
  headers: Headers;
  body: { leadId?: string; code?: string; errors?: { pointer: string }[] };
}

export interface Receiver {
  url: string;
  post(body: string | object, headers?: Record<string, string>): Promise<Answer>;
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
        body: (await answer.json()) as Answer['body'],
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
