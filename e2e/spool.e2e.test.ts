import { randomBytes, randomUUID } from 'node:crypto';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openSpool } from '@leadgate/intake';
import { queueCounts } from '@leadgate/queue';
import { folderForTest, forTest, sampleSubmission, startRedisServer } from '@leadgate/testkit';
import { type Answer, post, spoolWarnings, untilKept, warningsOf } from './leads.ts';
import { startSystem, type System } from './system.ts';

type Promised = Pick<Answer, 'submissionId' | 'leadId'>;

/** Posts leads of `who` one after the other, again after a 503, until each is answered 202. */
async function postAll(url: string, code: string, who: string[]): Promise<Promised[]> {
  const promised: Promised[] = [];
  for (const name of who)
    // A disk may be too busy to answer in time, and a receiver may not have put on it what the other has.
    await vi.waitFor(
      async () => {
        const answer = await post({ url }, code, { email: `${name}@example.com`, name });
        expect(answer.status).toBe(202);
        promised.push(answer);
      },
      { timeout: 10_000, interval: 100 },
    );
  return promised;
}

const people = (count: number, from: string) =>
  Array.from({ length: count }, (_, n) => `${from}${n}`);

const foldersIn = async (spools: string) =>
  (await readdir(spools)).filter((name) => name.startsWith('spool-'));

/** Every promise holds: the submission is there once, and the id that was answered resolves. */
async function expectKept(system: System, promised: Promised[]): Promise<void> {
  const submissions = await system.query<{ id: string; lead_id: string }>(
    'SELECT id, lead_id FROM submission ORDER BY id',
  );
  expect(submissions.map(({ id }) => id)).toEqual(
    promised.map(({ submissionId }) => submissionId).sort(),
  );
  const leads = await system.query<{ id: string; final: string }>(
    'SELECT id, coalesce(merged_into, id) AS final FROM lead',
  );
  const finalOf = new Map(leads.map(({ id, final }) => [id, final]));
  const leadOf = new Map(submissions.map(({ id, lead_id }) => [id, finalOf.get(lead_id)]));
  for (const { submissionId, leadId } of promised)
    expect(finalOf.get(leadId)).toBe(leadOf.get(submissionId));
}

test('receivers that share a SPOOL_DIR are killed with leads in it: all are applied, once, under the ids that were answered', async () => {
  const spools = folderForTest();
  const redis = await forTest(startRedisServer());
  const system = await forTest(
    startSystem({ redis, receivers: 2, receiverEnv: { SPOOL_DIR: spools } }),
  );
  const [one, other] = system.receivers;
  if (one === undefined || other === undefined) throw new Error('two receivers were asked for');
  const { code } = await system.openLink();
  const promised = await postAll(one.url, code, ['ana', 'bia']);
  await system.settle();
  await untilKept(code, spools);

  await redis.kill('SIGKILL');
  // Known ones, new ones, and one person to both.
  promised.push(...(await postAll(one.url, code, ['ana', 'carla', ...people(30, 'x')])));
  promised.push(...(await postAll(other.url, code, ['bia', 'carla', ...people(30, 'y')])));
  await one.member.stop('SIGKILL');
  await other.member.stop('SIGKILL');
  expect(await foldersIn(spools)).toHaveLength(2);

  // Killed once more, after it has adopted what the first two left.
  const third = await system.startReceiver();
  promised.push(...(await postAll(third.url, code, ['ana', 'dora'])));
  await third.member.stop('SIGKILL');
  const fourth = await system.startReceiver();

  await redis.restart();
  await expect.poll(() => spoolWarnings(fourth), { timeout: 20_000, interval: 50 }).toEqual([]);
  await system.settle();
  await expectKept(system, promised);
  const [{ count } = { count: '' }] = await system.query<{ count: string }>(
    'SELECT count(*) FROM lead WHERE merged_into IS NULL',
  );
  expect(Number(count)).toBe(4 + 60);
  await expect.poll(() => foldersIn(spools)).toHaveLength(1);

  expect(await fourth.member.stop('SIGTERM')).toBe(0);
  expect(await foldersIn(spools)).toEqual([]);
}, 120_000);

test('a receiver that is told to stop while Redis is away ends cleanly, in time, and keeps its spool', async () => {
  const spools = folderForTest();
  const redis = await forTest(startRedisServer());
  const system = await forTest(startSystem({ redis, receiverEnv: { SPOOL_DIR: spools } }));
  const [receiver] = system.receivers;
  if (receiver === undefined) throw new Error('a receiver was asked for');
  const { code } = await system.openLink();
  await untilKept(code, spools);
  await redis.kill('SIGSTOP');
  onTestFinished(() => redis.kill('SIGCONT'));
  const promised = await postAll(receiver.url, code, people(8, 'x'));
  const start = performance.now();
  expect(await receiver.member.stop('SIGTERM'), receiver.member.output()).toBe(0);
  expect(performance.now() - start).toBeLessThan(9_000);
  await redis.kill('SIGCONT');
  await system.startReceiver();
  await expect
    .poll(async () => (await system.query('SELECT 1 FROM submission')).length, { timeout: 20_000 })
    .toBe(8);
  await system.settle();
  await expectKept(system, promised);
}, 120_000);

test('a large damaged spool keeps no receiver from starting, in a small heap: it listens, and all that is whole is drained', async () => {
  const spools = folderForTest();
  const system = await forTest(startSystem({ receivers: 0, workers: 0 }));
  const { workspaceId } = await system.openLink();
  const ignore = () => undefined;
  const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  const spool = await openSpool(spools, { maxBytes: 2 ** 30, logger });
  const body = JSON.stringify({ filler: 'x'.repeat(60_000) });
  const count = 4_000;
  for (let n = 0; n < count; n += 20)
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const submission = sampleSubmission(n + i, { workspaceId, leadId: randomUUID(), body });
        return spool.append({ submission, reserved: false });
      }),
    );
  const { bytes } = spool.status();
  expect(bytes).toBeGreaterThan(230 * 2 ** 20);
  await spool.close();
  const [folder = ''] = await foldersIn(spools);
  const segments = (await readdir(join(spools, folder))).filter((name) => /segment$/.test(name));
  const file = await open(join(spools, folder, segments[segments.length >> 1] ?? ''), 'r+');
  await file.write(randomBytes(2 ** 18), 0, 2 ** 18, 2 ** 20);
  await file.close();

  const receiver = await system.startReceiver({
    SPOOL_DIR: spools,
    SPOOL_DRAIN_RATE: '2000',
    // Node 24 gives young objects 192 MB, and collects all the time to keep that within 96.
    NODE_OPTIONS: '--max-semi-space-size=16 --max-old-space-size=96',
  });
  const warnings = async () => (await warningsOf(receiver)).join();
  const WAITING = /\d+ leads are in the spool/;
  // It answers before it has drained.
  expect(await warnings()).toMatch(WAITING);
  await expect.poll(warnings, { timeout: 90_000, interval: 250 }).not.toMatch(WAITING);
  expect(await warnings()).toMatch(/records of the spool are damaged/);
  // Five or six records of 60 KB were hit.
  expect((await queueCounts(system.redis)).waiting).toBeGreaterThanOrEqual(count - 6);
  expect(await receiver.member.stop('SIGTERM')).toBe(0);
}, 180_000);
