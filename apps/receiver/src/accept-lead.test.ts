import { createBreaker, type SpooledSubmission } from '@leadgate/intake';
import { describe, expect, test, vi } from 'vitest';
import type { Intake, Trouble } from './accept-lead.ts';
import { CODE, fakeReceiver, LINK, NOW, reservationOf } from './fake-services.ts';

const ANA = { email: 'ana@example.com', telephone: '11987654321' };

/** A receiver with a spool that remembers what it was given. */
async function withSpool(services: Partial<Intake>) {
  const spooled: SpooledSubmission[] = [];
  const troubles: Trouble[] = [];
  const receiver = await fakeReceiver({
    services: {
      spool: {
        append: (record) => {
          spooled.push(record);
          return Promise.resolve('kept');
        },
      },
      onTrouble: (trouble) => void troubles.push(trouble),
      ...services,
    },
  });
  return { ...receiver, spooled, troubles };
}

const failing = (message: string) => ({ reserve: () => Promise.reject(new Error(message)) });

describe('where Redis does not answer', () => {
  test('a lead goes to the spool and is answered under the ids it has there', async () => {
    const receiver = await withSpool({ reserver: failing('Command timed out') });
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
    expect(receiver.troubles).toEqual(['spooled']);
  });

  test('after the reservation, it is spooled as it was reserved, and the right lead is answered', async () => {
    const leadId = '0f0f0f0f-6a3e-4a55-9b4d-6a8c1f1d0a01';
    const receiver = await withSpool({
      reserver: {
        reserve: (request) =>
          Promise.resolve({ ...reservationOf(request, NOW * 1_000 + 7), leadId }),
      },
      producer: { enqueue: () => Promise.reject(new Error('Command timed out')) },
    });
    const answer = await receiver.post(ANA);
    expect(answer.json()).toEqual({ leadId });
    expect(receiver.spooled).toMatchObject([
      { reserved: true, submission: { leadId, order: NOW * 1_000 + 7 } },
    ]);
  });

  test('a repeat whose job cannot be put again is spooled under the id of the first', async () => {
    const submissionId = '01997f0e-0000-7000-8000-000000000014';
    const receiver = await withSpool({
      reserver: {
        reserve: (request) => {
          const { kind: _, ...reservation } = reservationOf(request, NOW * 1_000);
          return Promise.resolve({ kind: 'repeated', submissionId, ...reservation });
        },
      },
      producer: { enqueue: () => Promise.reject(new Error('Command timed out')) },
    });
    const answer = await receiver.post(ANA, { headers: { 'idempotency-key': 'k-1' } });
    expect(answer.headers['submission-id']).toBe(submissionId);
    expect(receiver.spooled).toMatchObject([{ reserved: true, submission: { id: submissionId } }]);
  });

  test('five in a row wait for it, and then none does', async () => {
    const reserve = vi.fn(() => Promise.reject(new Error('Command timed out')));
    const receiver = await withSpool({ reserver: { reserve }, breaker: createBreaker() });
    for (let i = 0; i < 20; i++) expect((await receiver.post(ANA)).statusCode).toBe(202);
    expect(reserve.mock.calls.length).toBeLessThan(10);
    expect(receiver.spooled).toHaveLength(20);
  });
});

test('a workspace that is being refilled is spooled, and keeps nobody else from Redis', async () => {
  const receiver = await withSpool({
    reserver: { reserve: () => Promise.resolve({ kind: 'behind' }) },
    breaker: createBreaker(),
  });
  for (let i = 0; i < 20; i++) expect((await receiver.post(ANA)).statusCode).toBe(202);
  expect(receiver.spooled).toHaveLength(20);
});

test('under backpressure nothing is asked of Redis', async () => {
  const reserve = vi.fn();
  const backpressure = () => ({ code: 'overloaded' as const, reason: '9 leads are waiting' });
  const receiver = await withSpool({ reserver: { reserve }, backpressure });
  expect((await receiver.post(ANA)).statusCode).toBe(202);
  expect(reserve).not.toHaveBeenCalled();
  const without = await fakeReceiver({ services: { backpressure } });
  const answer = await without.post(ANA);
  expect(answer.json()).toMatchObject({ status: 503, code: 'overloaded' });
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
});

describe('where it can be made durable nowhere, the sender is told to try again', () => {
  const reserver = failing('Connection is closed.');
  test.each<[string, Partial<Intake>]>([
    ['without a spool', { spool: null }],
    ['with a full spool', { spool: { append: () => Promise.resolve('full') } }],
    ['with a failing disk', { spool: { append: () => Promise.reject(new Error('EIO')) } }],
    ['for a link that is not on disk', { isOnDisk: (code) => code !== CODE }],
  ])('%s', async (_, services) => {
    const receiver = await withSpool({ reserver, ...services });
    const answer = await receiver.post(ANA);
    expect(answer.json()).toMatchObject({ status: 503, code: 'unavailable' });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(receiver.spooled).toEqual([]);
    expect(receiver.troubles).toContain('not-enqueued');
  });

  test('within a second, of a disk that does not answer', async () => {
    const receiver = await withSpool({
      reserver,
      spool: { append: () => new Promise(() => undefined) },
    });
    const start = performance.now();
    expect((await receiver.post(ANA)).statusCode).toBe(503);
    expect(performance.now() - start).toBeLessThan(1_500);
  });

  test('as an overload, of a Redis that is full', async () => {
    for (const reserver of [
      failing("the reservation failed: OOM command not allowed when used memory > 'maxmemory'."),
      failing("OOM command not allowed when used memory > 'maxmemory'."),
    ]) {
      const receiver = await withSpool({ reserver, spool: null, breaker: createBreaker() });
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
    const receiver = await fakeReceiver();
    await receiver.post({ ...ANA, _ageMs });
    const { stamp, order, notes } = receiver.submission();
    expect({ stamp, notes }).toEqual({
      stamp: age === 0 ? order : (NOW - age) * 1_000,
      notes: [],
    });
  }
});
