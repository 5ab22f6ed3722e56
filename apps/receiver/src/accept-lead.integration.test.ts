import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSpool, type SpooledSubmission } from '@leadgate/intake';
import { startRedisServer } from '@leadgate/testkit';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import type { IntakeFailure } from './accept-lead.ts';
import type { ReceiverServices } from './app.ts';
import {
  closeAll,
  CODE,
  connectTo,
  LINK,
  logger,
  NOW,
  openApp,
  refill,
  type AppOptions,
} from '../test/receiver.ts';

afterEach(closeAll);

const ANA = { email: 'ana@example.com', telephone: '11987654321' };
const SPOOL_BYTES = 2 ** 24;

/** A receiver with a spool, and what that has kept. */
async function withSpool(options: AppOptions & { maxBytes?: number } = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'leadgate-spool-'));
  const spool = await openSpool(directory, { maxBytes: options.maxBytes ?? SPOOL_BYTES, logger });
  onTestFinished(async () => {
    await spool.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const spooled: SpooledSubmission[] = [];
  const failures: IntakeFailure[] = [];
  const receiver = await openApp({
    ...options,
    services: {
      spool: {
        async append(record) {
          const kept = await spool.append(record);
          if (kept === 'kept') spooled.push(record);
          return kept;
        },
      },
      onFailure: (failure) => void failures.push(failure),
      ...options.services,
    },
  });
  return { ...receiver, spooled, failures };
}

/** Redis goes away as soon as it is asked. */
const REDIS_AWAY: AppOptions = { beforeReserve: (redis) => redis.disconnect() };

describe('if Redis does not answer', () => {
  test('a lead goes to the spool and is answered under the ids it has there', async () => {
    const receiver = await withSpool(REDIS_AWAY);
    const answer = await receiver.post(ANA, { headers: { 'idempotency-key': 'k-1' } });
    expect(answer.statusCode).toBe(202);
    const [record, ...others] = receiver.spooled;
    expect(others).toEqual([]);
    const { submission, reserved, idempotency } = record ?? {};
    expect(reserved).toBe(false);
    expect(answer.json()).toEqual({ leadId: submission?.leadId });
    expect(submission).toMatchObject({
      id: answer.headers['submission-id'],
      workspaceId: LINK.workspaceId,
      identities: [
        { key: 'email:ana@example.com', owner: submission?.leadId },
        { key: 'phone:+5511987654321', owner: submission?.leadId },
      ],
      stamp: NOW * 1_000,
      body: JSON.stringify(ANA),
    });
    expect(idempotency?.key).toBe('k-1');
    expect(receiver.answers).toEqual(['accepted']);
    expect(receiver.failures).toEqual(['spooled']);
  });

  test('after the reservation, it is spooled as it was reserved, and the right lead is answered', async () => {
    const receiver = await withSpool({
      beforeEnqueue: (redis) => {
        if (receiver.enqueued.length > 0) redis.disconnect();
      },
    });
    await receiver.post(ANA);
    const { leadId, order = Infinity } = receiver.submission();
    const answer = await receiver.post(ANA);
    expect(answer.json()).toEqual({ leadId });
    expect(receiver.spooled).toMatchObject([{ reserved: true, submission: { leadId } }]);
    expect(receiver.spooled[0]?.submission.order).toBeGreaterThan(order);
  });

  test('a repeat whose job cannot be put again is spooled under the id of the first', async () => {
    const receiver = await withSpool({
      beforeEnqueue: (redis) => {
        if (receiver.enqueued.length > 0) redis.disconnect();
      },
    });
    await receiver.post(ANA, { headers: { 'idempotency-key': 'k-1' } });
    const submissionId = receiver.submission().id;
    const answer = await receiver.post(ANA, { headers: { 'idempotency-key': 'k-1' } });
    expect(answer.headers['submission-id']).toBe(submissionId);
    expect(receiver.spooled).toMatchObject([{ reserved: true, submission: { id: submissionId } }]);
  });

  test('five in a row wait for it, and then none does', async () => {
    const receiver = await withSpool(REDIS_AWAY);
    for (let i = 0; i < 20; i++) expect((await receiver.post(ANA)).statusCode).toBe(202);
    expect(receiver.reserved.length).toBeLessThan(10);
    expect(receiver.spooled).toHaveLength(20);
  });
});

test('a workspace that is being refilled is spooled, and keeps nobody else from Redis', async () => {
  const receiver = await withSpool();
  await receiver.redis.flushdb();
  for (let i = 0; i < 20; i++) expect((await receiver.post(ANA)).statusCode).toBe(202);
  expect(receiver.spooled).toHaveLength(20);
  expect(receiver.reserved).toHaveLength(20);
});

test('under backpressure nothing is asked of Redis', async () => {
  const backpressure = () => ({ code: 'overloaded' as const, reason: '9 leads are waiting' });
  const receiver = await withSpool({ services: { backpressure } });
  expect((await receiver.post(ANA)).statusCode).toBe(202);
  expect(receiver.reserved).toEqual([]);
  const without = await openApp({ services: { backpressure } });
  const answer = await without.post(ANA);
  expect(answer.json()).toMatchObject({ status: 503, code: 'overloaded' });
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
});

describe('if it can be made durable nowhere, the sender is told to try again', () => {
  test.each<[string, Partial<ReceiverServices>, maxBytes?: number]>([
    ['without a spool', { spool: null }],
    ['with a full spool', {}, 1],
    ['with a failing disk', { spool: { append: () => Promise.reject(new Error('EIO')) } }],
    ['for a link that is not on disk', { isOnDisk: (code) => code !== CODE }],
  ])('%s', async (_, services, maxBytes = SPOOL_BYTES) => {
    const receiver = await withSpool({ ...REDIS_AWAY, services, maxBytes });
    const answer = await receiver.post(ANA);
    expect(answer.json()).toMatchObject({ status: 503, code: 'unavailable' });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(receiver.spooled).toEqual([]);
    expect(receiver.failures).toContain('not-enqueued');
  });

  test('within a second, of a disk that does not answer', async () => {
    const receiver = await withSpool({
      ...REDIS_AWAY,
      services: { spool: { append: () => new Promise(() => undefined) } },
    });
    const start = performance.now();
    expect((await receiver.post(ANA)).statusCode).toBe(503);
    expect(performance.now() - start).toBeLessThan(1_500);
  });

  test('as an overload, of a Redis that is full', async () => {
    const server = await startRedisServer();
    onTestFinished(server.stop);
    const admin = connectTo(server.url);
    await refill(admin);
    const fill = async () => void (await admin.config('SET', 'maxmemory', '1'));
    for (const stage of [{ beforeReserve: fill }, { beforeEnqueue: fill }]) {
      await admin.config('SET', 'maxmemory', '0');
      const receiver = await openApp({ redisUrl: server.url, ...stage });
      for (let i = 0; i < 10; i++)
        expect((await receiver.post(ANA)).json()).toMatchObject({ code: 'overloaded' });
    }
  });
});

test('a lead that a browser kept for days is of when it was filled in, and wins over nothing newer', async () => {
  const day = 24 * 60 * 60 * 1_000;
  for (const [_ageMs, age] of [
    [3 * day, 3 * day],
    [90 * day, 7 * day],
    ['soon', 0],
  ] as const) {
    const receiver = await openApp();
    await receiver.post({ ...ANA, _ageMs });
    const { stamp, order, notes } = receiver.submission();
    expect({ stamp, notes }).toEqual({
      stamp: age === 0 ? order : (NOW - age) * 1_000,
      notes: [],
    });
  }
});
