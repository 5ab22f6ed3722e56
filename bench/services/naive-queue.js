import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { JOB_OPTIONS, QUEUE } from './naive-job.js';
import { readSettings, serve } from './http-service.js';

/** A receiver as it is often written: one queue.add a request, autopipelined. It knows no leads. */
/** @type {{ port: number, redisUrl: string, workspaceId: string, linkId: string }} */
const { port, redisUrl, workspaceId, linkId } = readSettings();
const redis = new Redis(redisUrl, { maxRetriesPerRequest: null, enableAutoPipelining: true });
const queue = new Queue(QUEUE, { connection: redis });
await queue.waitUntilReady();
await serve(port, async (read) => {
  const leadId = randomUUID();
  await queue.add(
    'lead',
    { ...read, leadId, workspaceId, linkId },
    { ...JOB_OPTIONS, jobId: leadId },
  );
  return leadId;
});
