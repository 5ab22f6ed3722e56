import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { v7 as uuidv7 } from 'uuid';
import { awaitRedis, connectRedis } from '@leadgate/boot';
import { createReserver } from '@leadgate/intake';
import { openProducer, pauseQueue, resumeQueue } from '@leadgate/queue';
import { people } from './people.js';
import { submissionOf } from './seed.js';
import { JOB_OPTIONS } from './services/naive-job.js';

/** @typedef {import('./servers.js').Database} Database */

/** Jobs that go together. */
const BATCH = 200;

/**
 * A queue of either kind, filled while it is paused.
 * @typedef {object} Feeder
 * @property {(jobs: number) => Promise<void>} fill
 * @property {() => Promise<void>} pause
 * @property {() => Promise<void>} resume
 * @property {() => Promise<number>} left jobs that are not done
 * @property {() => Promise<void>} close
 */

/**
 * Fills Leadgate's queue as its receiver does, without HTTP.
 * @param {string} redisUrl
 * @param {Database} database
 * @returns {Promise<Feeder>}
 */
export async function openFeeder(redisUrl, { workspaceId, linkId, people: known }) {
  // Not a receiver's: here a busy Redis is waited for.
  const redis = connectRedis(redisUrl, { role: 'admin' });
  await awaitRedis(redis);
  const producer = await openProducer(redis, { logger: SILENT });
  const reserver = createReserver(redis);
  /** @param {number} person */
  const put = async (person) => {
    const read = submissionOf(person, { workspaceId, linkId });
    const id = uuidv7();
    const reserved = await reserver.reserve({
      ...{ submissionId: id, workspaceId, linkId, offeredLeadId: randomUUID() },
      ...{ identityKeys: read.identities.map(({ key }) => key), limits: [] },
    });
    if (reserved.kind !== 'reserved') throw new Error(reserved.kind);
    const { leadId, identities, order } = reserved;
    await producer.enqueue({ ...read, id, leadId, identities, order, stamp: order });
  };
  return {
    fill: inBatches(known, (batch) => Promise.all(batch.map(put))),
    pause: () => pauseQueue(redis),
    resume: () => resumeQueue(redis),
    left: async () => {
      const { waiting, active, delayed, failed } = await producer.counts();
      if (failed > 0) throw new Error(`${failed.toString()} jobs failed`);
      return waiting + active + delayed;
    },
    close: async () => {
      await producer.close();
      redis.disconnect();
    },
  };
}

/**
 * Fills a naive queue, whose receiver knows no leads. `drop` throws away what waits, and resolves when its worker
 * has nothing left.
 * @param {string} redisUrl
 * @param {Database} database
 * @param {string} name of the queue
 * @returns {Promise<Feeder & { drop: () => Promise<void> }>}
 */
export async function openNaiveFeeder(redisUrl, { workspaceId, linkId, people: known }, name) {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const queue = new Queue(name, { connection: redis });
  await queue.waitUntilReady();
  /** @param {number} person */
  const jobOf = (person) => {
    const { lead, leadId, identities, body } = submissionOf(person, { workspaceId, linkId });
    const keys = identities.map(({ key }) => key);
    return {
      name: 'lead',
      data: { lead, leadId, identities: keys, body, workspaceId, linkId },
      opts: { ...JOB_OPTIONS, jobId: leadId },
    };
  };
  return {
    fill: inBatches(known, (batch) => queue.addBulk(batch.map(jobOf))),
    pause: () => queue.pause(),
    resume: () => queue.resume(),
    left: async () => {
      const counts = await queue.getJobCounts('wait', 'active', 'delayed', 'failed');
      if ((counts.failed ?? 0) > 0) throw new Error(`${String(counts.failed)} jobs failed`);
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    },
    drop: async () => {
      await queue.drain();
      while ((await queue.getActiveCount()) > 0) await delay(50);
    },
    close: async () => {
      await queue.close();
      await redis.quit();
    },
  };
}

/**
 * @param {number} known
 * @param {(people: number[]) => Promise<unknown>} put
 * @returns {Feeder['fill']}
 */
function inBatches(known, put) {
  return async (jobs) => {
    const next = people(known);
    for (let done = 0; done < jobs; done += BATCH)
      await put(Array.from({ length: Math.min(BATCH, jobs - done) }, next));
  };
}

export const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
