import { awaitRedis, connectRedis, createLogger, readConfig } from '@leadgate/boot';
import { openProducer, type Producer } from '@leadgate/queue';
import { createWorkspace, type Store } from '@leadgate/store';
import { WorkerConfig } from '../src/config.ts';
import { startWorker } from '../src/start-worker.ts';

/** Closes what a test opened, in reverse order. */
export interface Closes {
  add: (name: string, close: () => unknown) => void;
  all: () => Promise<void>;
}

export function createCloses(): Closes {
  const list: { name: string; close: () => unknown }[] = [];
  return {
    add: (name, close) => void list.push({ name, close }),
    async all() {
      for (let next = list.pop(); next !== undefined; next = list.pop()) await next.close();
    },
  };
}

/** A worker in this process. `close` stops it as a signal would, and rejects if that fails. */
export async function workerUnderTest(
  servers: { databaseUrl: string; redisUrl: string },
  env: Record<string, string> = {},
): Promise<{ port: number; log: () => string; close: () => Promise<void> }> {
  const lines: string[] = [];
  const closes = createCloses();
  const config = readConfig(WorkerConfig, {
    DATABASE_URL: servers.databaseUrl,
    REDIS_URL: servers.redisUrl,
    WORKER_HOST: '127.0.0.1',
    WORKER_PORT: '0',
    LOG_LEVEL: 'debug',
    ...env,
  });
  const logger = createLogger({
    name: 'worker',
    level: config.LOG_LEVEL,
    destination: { write: (line) => void lines.push(line) },
  });
  try {
    const { port } = await startWorker(config, { logger, onClose: closes.add });
    return { port, log: () => lines.join(''), close: closes.all };
  } catch (error) {
    await closes.all();
    throw error;
  }
}

/** A producer to fill the queue with. */
export async function producerUnderTest(redisUrl: string, closes: Closes): Promise<Producer> {
  const redis = connectRedis(redisUrl, { role: 'producer' });
  closes.add('producer redis', () => redis.disconnect());
  await awaitRedis(redis);
  const producer = await openProducer(redis, {
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  closes.add('producer', producer.close);
  return producer;
}

/** A workspace without links; its id. */
export async function makeWorkspace(store: Store): Promise<string> {
  const created = await createWorkspace(store, { name: 'Acme', country: 'BR', dummyPhones: [] });
  if (created.kind !== 'created') throw new Error(created.kind);
  return created.workspace.id;
}
