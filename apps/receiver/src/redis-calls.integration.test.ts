import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { awaitRedis, connectRedis, type RedisConnection } from '@leadgate/boot';
import { createReserver, openWorkspace } from '@leadgate/intake';
import { openProducer } from '@leadgate/queue';
import { type OwnServer, sampleSubmission, startRedisServer } from '@leadgate/testkit';

/** Leads that arrive in the same moment. */
const LEADS = 100;

let server: OwnServer;
let redis: RedisConnection;
let accept: (n: number) => Promise<void>;
let close: () => Promise<void>;

beforeAll(async () => {
  server = await startRedisServer();
  redis = connectRedis(server.url, { role: 'producer' });
  await awaitRedis(redis);
  const producer = await openProducer(redis, {
    logger: { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() },
  });
  const reserver = createReserver(redis);
  const { workspaceId, linkId } = sampleSubmission();
  await openWorkspace(redis, workspaceId);
  accept = async (n) => {
    const submission = sampleSubmission(n);
    const reservation = await reserver.reserve({
      submissionId: submission.id,
      ...{ workspaceId, linkId, offeredLeadId: randomUUID() },
      identityKeys: submission.identities.map(({ key }) => key),
      idempotency: { key: `key-${n}`, bodyHash: 'b'.repeat(43) },
      limits: [
        { key: `link:${linkId}`, max: 1_000_000 },
        { key: 'address:of-one-carrier', max: 1_000_000 },
      ],
    });
    if (reservation.kind !== 'reserved') throw new Error(reservation.kind);
    const { leadId, identities, order } = reservation;
    await producer.enqueue({ ...submission, leadId, identities, order, stamp: order });
  };
  close = () => producer.close();
  // So that Redis knows the scripts.
  await accept(0);
});
afterAll(async () => {
  await close();
  redis.disconnect();
  await server.stop();
});

test('leads of the same moment cost Redis two calls together, and what each writes is counted', async () => {
  await redis.config('RESETSTAT');
  await Promise.all(Array.from({ length: LEADS }, (_, n) => accept(n + 1)));
  const calls = await callsByCommand();
  expect(calls.evalsha).toBe(2);
  // What the reservation calls for each lead: its key, its record.
  expect(calls).toMatchObject({ set: LEADS });
  // All of them are one job, and counted in the same transaction.
  expect(calls).toMatchObject({ hmset: 1, lpush: 1, zadd: 1, multi: 1, hincrby: 1, exec: 1 });
  // Nothing is called one by one.
  expect(calls.eval ?? 0).toBe(0);
  const bytes = Number(/total_net_input_bytes:(\d+)/.exec(await redis.info('stats'))?.[1]);
  expect(bytes / LEADS).toBeLessThan(700);
});

async function callsByCommand(): Promise<Record<string, number>> {
  const stats = await redis.info('commandstats');
  return Object.fromEntries(
    [...stats.matchAll(/cmdstat_([a-z|]+):calls=(\d+)/g)].map(([, name = '', calls]) => [
      name,
      Number(calls),
    ]),
  );
}
