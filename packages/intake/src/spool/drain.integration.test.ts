import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Submission } from '@leadgate/contract';
import { awaitRedis, connectRedis, type RedisConnection } from '@leadgate/boot';
import { openProducer, type Producer } from '@leadgate/queue';
import { sampleSubmission, testRedis } from '@leadgate/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openWorkspace } from '../reservation/marker.ts';
import { createReserver, type Reservation, type Reserver } from '../reservation/reserver.ts';
import { type DrainIntake, drainFolder, startDrain } from './drain.ts';
import { tellRemoved } from '../erase.ts';
import { openSpool, type Spool } from './spool.ts';
import type { SpooledSubmission } from './segment.ts';

let redis: RedisConnection;
let reserver: Reserver;
let producer: Producer;
let flush: () => Promise<void>;
let workspaceId: string;
let directory: string;
let spool: Spool;

beforeAll(async () => {
  const server = await testRedis();
  ({ flush } = server);
  redis = connectRedis(server.url, { role: 'producer' });
  await awaitRedis(redis);
  reserver = createReserver(redis);
});
afterAll(() => redis.disconnect());
beforeEach(async () => {
  await flush();
  producer = await openProducer(redis, { logger });
  workspaceId = randomUUID();
  await openWorkspace(redis, workspaceId);
  directory = mkdtempSync(join(tmpdir(), 'leadgate-spool-'));
  spool = await openSpool(directory, { maxBytes: 2 ** 24, logger });
});
afterEach(async () => {
  await producer.close();
  await spool.close();
  rmSync(directory, { recursive: true, force: true });
});

const logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** The queue, and what it has taken. */
interface Queue extends DrainIntake {
  enqueued: Submission[];
}

function queue(): Queue {
  const enqueued: Submission[] = [];
  return {
    enqueued,
    reserver,
    producer: {
      enqueue: async (submission) => {
        await producer.enqueue(submission);
        enqueued.push(submission);
      },
    },
  };
}

/** As a receiver spools it that could not ask Redis: of a lead of its own. */
function unreserved(n: number, more: Partial<SpooledSubmission> = {}): SpooledSubmission {
  const now = Date.now() * 1_000;
  const submission = sampleSubmission(n, {
    id: randomUUID(),
    leadId: randomUUID(),
    workspaceId,
    order: now,
    stamp: now,
  });
  return { submission, reserved: false, ...more };
}

function reserve({ submission, idempotency }: SpooledSubmission): Promise<Reservation> {
  return reserver.reserve({
    submissionId: submission.id,
    workspaceId: submission.workspaceId,
    linkId: submission.linkId,
    offeredLeadId: submission.leadId,
    identityKeys: submission.identities.map(({ key }) => key),
    limits: [],
    ...(idempotency && { idempotency }),
  });
}

async function drain(target: DrainIntake) {
  const [folder] = spool.folders();
  if (folder === undefined) throw new Error('nothing was spooled');
  return drainFolder(folder, target, { rate: 100_000 });
}

test('a drained person is enqueued as if posted, in order, with the time it was posted', async () => {
  const kept = [unreserved(1), unreserved(2), unreserved(3)];
  for (const spooled of kept) await spool.append(spooled);
  const target = queue();
  expect(await drain(target)).toEqual({ drained: 3, damaged: 0, behind: 0, removed: 0 });
  expect(target.enqueued.map(({ id }) => id)).toEqual(kept.map(({ submission }) => submission.id));
  const orders = target.enqueued.map(({ order }) => order);
  expect(orders).toEqual(orders.toSorted((a, b) => a - b));
  for (const [i, submission] of target.enqueued.entries()) {
    expect(submission.leadId).toBe(kept[i]?.submission.leadId);
    expect(submission.answeredLeadId).toBeUndefined();
    expect(submission.stamp).toBe(kept[i]?.submission.stamp);
    expect(submission.stamp).toBeLessThanOrEqual(submission.order);
  }
  expect(spool.status().waiting).toBe(0);
  expect(await producer.counts()).toMatchObject({ waiting: 3, failed: 0 });
});

test('a receiver’s clock that is ahead gives no facts from the future', async () => {
  const spooled = unreserved(1);
  spooled.submission.stamp += 3_600_000_000;
  await spool.append(spooled);
  const target = queue();
  await drain(target);
  const [submission] = target.enqueued;
  expect(submission?.stamp).toBe(submission?.order);
});

test('a known person keeps their lead, and the id that was answered is to stand for it', async () => {
  const before = await reserve(unreserved(1));
  const [first, second] = [unreserved(1), unreserved(1)];
  await spool.append(first);
  await spool.append(second);
  const target = queue();
  await drain(target);
  const leadId = 'leadId' in before ? before.leadId : '';
  expect(target.enqueued).toMatchObject([
    { leadId, answeredLeadId: first.submission.leadId },
    { leadId, answeredLeadId: second.submission.leadId },
  ]);
});

describe('an idempotency key', () => {
  const idempotency = { key: 'k-1', bodyHash: 'h-1' };

  test('whose command ran although it timed out is enqueued once, as it was reserved then', async () => {
    const spooled = unreserved(1, { idempotency });
    const reserved = await reserve(spooled);
    await spool.append(spooled);
    const target = queue();
    await drain(target);
    expect(target.enqueued).toMatchObject([
      { id: spooled.submission.id, order: 'order' in reserved ? reserved.order : 0 },
    ]);
    expect(target.enqueued[0]).not.toHaveProperty('answeredLeadId');
  });

  test('whose command ran although it timed out, and which was repeated since: the id answered here stands for the lead of that one', async () => {
    const known = await reserve(unreserved(1));
    const spooled = unreserved(1, { idempotency });
    const reserved = await reserve(spooled);
    await spool.append(spooled);
    const target = queue();
    await drain(target);
    const leadId = 'leadId' in known ? known.leadId : '';
    const stands = {
      id: spooled.submission.id,
      leadId,
      answeredLeadId: spooled.submission.leadId,
      order: 'order' in reserved ? reserved.order : 0,
    };
    expect(target.enqueued).toMatchObject([stands]);
  });

  test('that was accepted elsewhere makes no second submission: the id answered here is an alias', async () => {
    const [elsewhere, here] = [unreserved(1, { idempotency }), unreserved(1, { idempotency })];
    const reserved = await reserve(elsewhere);
    await spool.append(here);
    const target = queue();
    expect(await drain(target)).toMatchObject({ drained: 1 });
    expect(target.enqueued).toMatchObject([
      {
        id: elsewhere.submission.id,
        leadId: elsewhere.submission.leadId,
        answeredLeadId: here.submission.leadId,
        order: 'order' in reserved ? reserved.order : 0,
      },
    ]);
  });

  test('of another body is kept all the same, with a note: it had its 202', async () => {
    await reserve(unreserved(1, { idempotency }));
    const other = unreserved(2, { idempotency: { key: 'k-1', bodyHash: 'h-2' } });
    await spool.append(other);
    const target = queue();
    await drain(target);
    expect(target.enqueued).toMatchObject([
      { id: other.submission.id, notes: [{ code: 'key-of-another-body' }] },
    ]);
  });
});

test('a workspace that is being refilled waits, and holds back no other', async () => {
  const other = randomUUID();
  const behind = unreserved(1);
  behind.submission.workspaceId = other;
  await spool.append(behind);
  await spool.append(unreserved(2));
  await spool.append({ ...behind, submission: { ...behind.submission, id: randomUUID() } });
  const target = queue();
  expect(await drain(target)).toEqual({ drained: 1, damaged: 0, behind: 2, removed: 0 });
  expect(spool.status().waiting).toBe(2);
  await openWorkspace(redis, other);
  expect(await drain(target)).toMatchObject({ drained: 2, behind: 0 });
});

test('one that was reserved and not enqueued keeps its order before those that came later', async () => {
  await spool.append(unreserved(1));
  await spool.append(unreserved(2));
  let fails = true;
  const target = queue();
  const enqueue = (submission: Submission) => {
    if (fails) {
      fails = false;
      return Promise.reject(new Error('timed out'));
    }
    return target.producer.enqueue(submission);
  };
  await expect(drain({ ...target, producer: { enqueue } })).rejects.toThrow('timed out');
  expect(spool.status().waiting).toBe(1);
  await drain({ ...target, producer: { enqueue } });
  const [later, first] = target.enqueued;
  expect(first?.order).toBeLessThan(later?.order ?? 0);
});

test('a record that no Redis could take is set aside', async () => {
  const wrong = unreserved(1);
  wrong.submission.leadId = 'no uuid';
  await spool.append(wrong);
  await spool.append(unreserved(2));
  expect(await drain(queue())).toEqual({ drained: 1, damaged: 1, behind: 0, removed: 0 });
  expect(spool.status()).toMatchObject({ waiting: 0, damaged: 1 });
});

test('what was spooled of a workspace that was removed is dropped once a worker says so, and holds back no other', async () => {
  await spool.append(unreserved(1));
  await redis.unlink(`leadgate:{${workspaceId}}:state`);
  expect(await drain(queue())).toMatchObject({ drained: 0, behind: 1, removed: 0 });
  await tellRemoved(redis, [workspaceId]);
  expect(await drain(queue())).toMatchObject({ drained: 0, behind: 0, removed: 1 });
  expect(spool.status().waiting).toBe(0);
});

test('draining begins by itself once it may, keeps to its rate, and goes on after Redis failed', async () => {
  for (let n = 0; n < 60; n++) await spool.append(unreserved(n));
  let mayDrain = false;
  let failures = 2;
  const target = queue();
  const start = performance.now();
  const draining = startDrain(
    spool,
    {
      ...target,
      reserver: {
        ...reserver,
        reserve: (request) =>
          failures > 0 ? Promise.reject(new Error(`${failures--}`)) : reserver.reserve(request),
      },
    },
    { rate: 100, mayDrain: () => mayDrain, logger },
  );
  await vi.waitFor(() => expect(performance.now() - start).toBeGreaterThan(300));
  expect(failures).toBe(2);
  mayDrain = true;
  await vi.waitFor(() => expect(spool.status().waiting).toBe(0), { timeout: 10_000 });
  // The last group needs no pause after it.
  expect(performance.now() - start).toBeGreaterThan(300 + 350);
  expect(new Set(target.enqueued.map(({ id }) => id)).size).toBe(60);
  await draining.stop();
});
