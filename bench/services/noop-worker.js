import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { readSettings, serveReadiness } from './http-service.js';
import { NOOP_QUEUE } from './naive-job.js';

/** The ceiling of a worker: BullMQ takes jobs and completes them, and nothing is done. */
/** @type {{ port: number, redisUrl: string, concurrency: number }} */
const { port, redisUrl, concurrency } = readSettings();
const worker = new Worker(NOOP_QUEUE, async () => {}, {
  connection: new Redis(redisUrl, { maxRetriesPerRequest: null }),
  concurrency,
});
await worker.waitUntilReady();
await serveReadiness(port);
