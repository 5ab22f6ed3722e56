import { createLogger, readConfig, type Shutdown } from '@leadgate/boot';
import { refillAll } from '@leadgate/intake';
import { sampleLink, startRedisServer } from '@leadgate/testkit';
import { Redis } from 'ioredis';
import type { TestProject } from 'vitest/node';
import { ReceiverConfig } from '../apps/receiver/src/config.ts';
import { startReceiver } from '../apps/receiver/src/start-receiver.ts';

const LINK = sampleLink();

/** For the snippet's own tests: a receiver that runs, with an open and a disabled link. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const closes: (() => Promise<void> | void)[] = [];
  const onClose: Shutdown['add'] = (_name, close) => void closes.push(close);
  const server = await startRedisServer();
  closes.push(() => server.stop());
  const redis = new Redis(server.url);
  closes.push(() => redis.disconnect());
  await refillAll(redis, {
    directoryRevision: () => Promise.resolve(1),
    workspaceIds: () => Promise.resolve([LINK.workspaceId]),
    async *links() {
      yield await Promise.resolve([
        { code: 'open-link', link: LINK },
        { code: 'closed-link', link: { ...LINK, state: 'disabled' as const } },
      ]);
    },
    async *identities() {
      yield await Promise.resolve([]);
    },
    highestOrders: () => Promise.resolve(new Map()),
  });
  const config = readConfig(ReceiverConfig, {
    REDIS_URL: server.url,
    RECEIVER_HOST: '127.0.0.1',
    RECEIVER_PORT: '0',
  });
  const logger = createLogger({ name: 'receiver', level: 'error' });
  const { url } = await startReceiver(config, { logger, onClose });
  project.provide('receiver', { url, open: 'open-link', closed: 'closed-link' });
  return async () => {
    for (const close of closes.toReversed()) await close();
  };
}
