import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { openStore } from '@leadgate/store';
import { findOrCreate } from './find-or-create.js';
import { readSettings, serveReadiness } from './http-service.js';
import { QUEUE } from './naive-job.js';

/** A worker as it is often written: one transaction of Prisma a job. */
/** @type {{ port: number, redisUrl: string, databaseUrl: string, concurrency: number }} */
const { port, redisUrl, databaseUrl, concurrency } = readSettings();
const { prisma } = openStore({ url: databaseUrl, poolSize: 10 });
const worker = new Worker(
  QUEUE,
  async (/** @type {import('bullmq').Job<import('./naive-job.js').NaiveJob>} */ job) => {
    await findOrCreate(prisma, job.data);
  },
  { connection: new Redis(redisUrl, { maxRetriesPerRequest: null }), concurrency },
);
await worker.waitUntilReady();
await serveReadiness(port);
