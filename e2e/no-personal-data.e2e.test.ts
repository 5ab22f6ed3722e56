import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { post as postTo } from './leads.ts';
import { startSystem, type System } from './system.ts';

/** In every value that is sent: nothing else in the world says it. */
const MARK = 'zqxmarked';

let system: System;
beforeAll(async () => {
  system = await startSystem({
    receiverEnv: { LOG_LEVEL: 'trace' },
    workerEnv: { LOG_LEVEL: 'trace' },
  });
}, 60_000);
afterAll(async () => {
  await system?.stop();
});

const marked = {
  name: `${MARK} name`,
  city: `${MARK} city`,
  profession: `${MARK} profession`,
  instagram: `@${MARK}`,
  utmCampaign: `${MARK} campaign`,
  address: { street: `${MARK} street` },
  customFields: { [`${MARK} key`]: `${MARK} value` },
  [`${MARK}Unknown`]: MARK,
};

const post = (code: string, body: string | URLSearchParams, headers: Record<string, string> = {}) =>
  postTo(system.receivers[0], code, body, {
    referer: `https://lp.example/?email=${MARK}@x.example`,
    'user-agent': `${MARK} agent`,
    ...headers,
  });

const logs = (): string =>
  [...system.receivers.map(({ member }) => member), ...system.workers]
    .map((member) => member.output())
    .join('\n');

test('no log of receiver or worker holds anything of a person, whatever came of the lead', async () => {
  const { code } = await system.openLink();
  const closed = await system.openLink({ requireIdentity: true });
  const email = (n: number) => `${MARK}${n}@x.example`;
  const json = (more: object) => JSON.stringify({ ...marked, ...more });

  const accepted = await post(code, json({ email: email(1), telephone: '5511987650001' }));
  expect(accepted.status).toBe(202);
  // Known, in doubt, repeated, in lenient mode, from a form.
  expect((await post(code, json({ telephone: '5511987650002' }))).status).toBe(202);
  expect((await post(code, json({ email: email(1), telephone: '5511987650002' }))).status).toBe(
    202,
  );
  const key = { 'idempotency-key': `${MARK}-key` };
  for (let n = 0; n < 2; n += 1)
    expect((await post(code, json({ email: email(2) }), key)).status).toBe(202);
  expect((await post(code, json({ email: email(3) }), key)).status).toBe(422);
  const lenient = { prefer: 'handling=lenient' };
  expect((await post(code, json({ email: `${MARK}@` }), lenient)).status).toBe(202);
  const form = new URLSearchParams({ email: email(4), name: MARK });
  expect((await post(code, form)).status).toBe(202);

  // Refused, in every way that reads a body, and at doors before it.
  expect((await post(code, json({ email: `${MARK}@`, telephone: MARK }))).status).toBe(422);
  expect((await post(code, `{"email":"${email(5)}`)).status).toBe(400);
  expect((await post(code, `["${MARK}"]`)).status).toBe(422);
  expect((await post(closed.code, json({}))).status).toBe(422);
  expect((await post(`${MARK}-no-such-code`, json({}))).status).toBe(404);
  expect((await post(code, MARK, { 'content-type': `application/${MARK}` })).status).toBe(415);
  expect((await post(code, json({ name: MARK.repeat(10_000) }))).status).toBe(413);

  // One that Postgres refuses: it is tried again, and its attempts are logged.
  await system.query(
    `ALTER TABLE lead ADD CONSTRAINT no_poison CHECK (name IS DISTINCT FROM '${MARK} poison')`,
  );
  const poison = await post(code, json({ email: email(6), name: `${MARK} poison` }));
  expect(poison.status).toBe(202);
  await vi.waitFor(() => expect(system.workers[0]?.output()).toContain('attempt failed'), {
    timeout: 20_000,
    interval: 50,
  });
  await system.query('ALTER TABLE lead DROP CONSTRAINT no_poison');

  // Redis away for a moment, in the middle of a post.
  const mutes = system.redis.client('PAUSE', 1_500, 'ALL');
  await post(code, json({ email: email(7) })).catch(() => undefined);
  await mutes;

  await system.settle();
  await vi.waitFor(
    async () => {
      const [row] = await system.query<{ n: number }>(
        'SELECT count(*)::int AS n FROM rejected_submission',
      );
      expect(row?.n).toBeGreaterThanOrEqual(4);
    },
    { timeout: 10_000 },
  );

  const written = logs();
  expect(written.length).toBeGreaterThan(500);
  const found = written
    .split('\n')
    .filter((line) => line.toLowerCase().includes(MARK) || /55\s?11\s?98765/.test(line));
  expect(found).toEqual([]);

  // One id leads from the post to its commit.
  const { submissionId } = accepted;
  expect(submissionId).not.toBe('');
  expect(system.receivers[0]?.member.output()).toContain(submissionId);
  const committed = system.workers[0]
    ?.output()
    .split('\n')
    .find((line) => line.includes(submissionId) && line.includes('submission applied'));
  expect(committed).toBeDefined();
}, 90_000);
