import { randomUUID } from 'node:crypto';
import { LINK_DEFAULTS, type LinkSettings, type Submission } from '@leadgate/contract';
import { createReserver, openWorkspace } from '@leadgate/intake';
import { applyGroup, createLink, createWorkspace, openStore, type Store } from '@leadgate/store';
import { Redis } from 'ioredis';
import type { ImportServers } from './import/import-rows.ts';

/** Servers of operations whose queue is a list, and a workspace with a link on them. */
export interface OperationsUnderTest extends ImportServers {
  store: Store;
  redis: Redis;
  /** What was enqueued and not applied yet. */
  queue: Submission[];
  /** As a worker does it: applies and empties the queue. */
  work: (options?: { replay?: boolean }) => Promise<void>;
  open: (settings?: Partial<LinkSettings>) => Promise<{ workspaceId: string; linkId: string }>;
  close: () => Promise<void>;
}

export function operationsUnderTest(urls: {
  databaseUrl: string;
  redisUrl: string;
}): OperationsUnderTest {
  const store = openStore({ url: urls.databaseUrl, poolSize: 4 });
  const redis = new Redis(urls.redisUrl);
  const queue: Submission[] = [];
  return {
    store,
    redis,
    queue,
    reserver: createReserver(redis),
    producer: {
      enqueue: (submission) => Promise.resolve(void queue.push(submission)),
      counts: () =>
        Promise.resolve({
          waiting: queue.length,
          background: 0,
          active: 0,
          delayed: 0,
          failed: 0,
          paused: false,
        }),
    },
    work: async ({ replay = false } = {}) => {
      const items = queue.splice(0).map((submission) => ({ submission, replay }));
      await applyGroup(store, items);
    },
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
    close: async () => {
      redis.disconnect();
      await store.close();
    },
  };
}
