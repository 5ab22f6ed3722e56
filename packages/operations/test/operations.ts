import { randomUUID } from 'node:crypto';
import { LINK_DEFAULTS, type LinkSettings, type Submission } from '@leadgate/contract';
import { awaitRedis, connectRedis, createLogger } from '@leadgate/boot';
import { createReserver, openWorkspace } from '@leadgate/intake';
import { openProducer, startApplyWorker, type Producer } from '@leadgate/queue';
import { applyGroup, createLink, createWorkspace, openStore, type Store } from '@leadgate/store';
import { Redis } from 'ioredis';
import { testDatabase, testRedis } from '@leadgate/testkit';
import { afterAll, expect, vi } from 'vitest';
import type { ImportServers } from '../src/import/import-rows.ts';
import type { Call, Connections } from '../src/operation.ts';
import { Runner } from '../src/runs.ts';

/** Servers of operations, and a workspace with a link on them. */
export interface OperationsUnderTest extends ImportServers {
  store: Store;
  databaseUrl: string;
  redis: Redis;
  producer: Producer;
  /** What the queue has taken since it was last worked off. */
  queue: readonly Submission[];
  /** As a worker does it: applies what the queue has. */
  work: () => Promise<void>;
  /** Lets go what the queue has. */
  forget: () => Promise<void>;
  open: (settings?: Partial<LinkSettings>) => Promise<{ workspaceId: string; linkId: string }>;
}

type GroupItems = Parameters<typeof applyGroup>[1];

const logger = createLogger({ name: 'operations', level: 'silent' });

/** For a test file, on a database and a Redis of its own, until its tests are over. */
export async function operationsUnderTest(): Promise<OperationsUnderTest> {
  const database = await testDatabase();
  const { url: redisUrl } = await testRedis();
  const store = openStore({ url: database.url, poolSize: 4 });
  const redis = new Redis(redisUrl);
  const queue: Submission[] = [];
  const producing = connectRedis(redisUrl, { role: 'producer' });
  await awaitRedis(producing);
  const producer = await openProducer(producing, { logger });

  /** Takes all that the queue has, as a worker does. */
  async function take(apply: (items: GroupItems) => Promise<unknown>): Promise<void> {
    const taking = connectRedis(redisUrl, { role: 'worker' });
    const worker = await startApplyWorker(taking, {
      concurrency: 500,
      logger,
      apply: async (submissions, { replay }) => {
        await apply(submissions.map((submission) => ({ submission, replay })));
        return submissions.map(() => ({ kind: 'settled' }));
      },
    });
    await vi.waitFor(
      async () =>
        expect(await producer.counts()).toMatchObject({ waiting: 0, active: 0, delayed: 0 }),
      { timeout: 20_000, interval: 10 },
    );
    await worker.close({ timeoutMs: 5_000 });
    taking.disconnect();
    queue.length = 0;
  }

  afterAll(async () => {
    await producer.close();
    producing.disconnect();
    redis.disconnect();
    await store.close();
    await database.drop();
  });
  return {
    store,
    databaseUrl: database.url,
    redis,
    queue,
    reserver: createReserver(redis),
    producer: {
      ...producer,
      enqueue: async (submission, options) => {
        await producer.enqueue(submission, options);
        queue.push(submission);
      },
      replay: async (submission, runId) => {
        await producer.replay(submission, runId);
        queue.push(submission);
      },
    },
    work: () => take((items) => applyGroup(store, items)),
    forget: () => take(() => Promise.resolve()),
    open: async (settings = {}) => {
      const creation = await createWorkspace(store, {
        name: randomUUID().replaceAll('-', ' '),
        country: 'BR',
        dummyPhones: [],
      });
      if (creation.kind !== 'created') throw new Error(creation.kind);
      const workspaceId = creation.workspace.id;
      await openWorkspace(redis, workspaceId);
      const linking = await createLink(store, workspaceId, {
        ...LINK_DEFAULTS,
        label: 'Landing',
        expiresAt: null,
        ...settings,
      });
      if (linking.kind !== 'created') throw new Error(linking.kind);
      return { workspaceId, linkId: linking.link.id };
    },
  };
}

/** What operations are run on, of these servers; `change`: what a test needs besides. */
export function connectionsOf(
  { store, redis, reserver, producer }: OperationsUnderTest,
  change: Partial<Connections> = {},
): Connections {
  return {
    store,
    redis: () => Promise.resolve(redis),
    intake: () => Promise.resolve({ reserver, producer }),
    failed: () => Promise.reject(new Error('not asked for')),
    runner: new Runner(),
    keyring: () => Promise.resolve(null),
    erasureLedger: null,
    consentKey: null,
    deliveries: () => Promise.resolve({ allowNetworks: [] }),
    receiverUrl: null,
    ...change,
  };
}

/** Who may do everything, at the prompt. */
export const ADMINISTRATOR: Call = {
  actor: { kind: 'command-line', name: 'ana', role: 'administrator', workspaces: [] },
  requestId: null,
  signal: new AbortController().signal,
  warn: () => undefined,
};
