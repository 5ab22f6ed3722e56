import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setLinkState, updateLink, type Store } from '@leadgate/store';
import { type Answer, post as postTo } from './leads.ts';
import { startSystem, type System } from './system.ts';

let system: System;
beforeAll(async () => {
  system = await startSystem({ receivers: 2, workers: 3 });
}, 60_000);
afterAll(() => system?.stop());

/** To one of the receivers, in turn. */
const post = (turn: number, code: string, lead: object, headers?: Record<string, string>) =>
  postTo(system.receivers[turn % system.receivers.length], code, lead, headers);

/** As senders do it: with a key, and again after a 503, which a busy machine is enough for. */
async function postKeyed(turn: number, code: string, lead: object, key: string): Promise<Answer> {
  for (;;) {
    const answer = await post(turn, code, lead, { 'idempotency-key': key });
    if (answer.status !== 503) return answer;
    await delay(200);
  }
}

const times = <T>(n: number, make: (i: number) => T): T[] =>
  Array.from({ length: n }, (_, i) => make(i));
const countOf = (answers: Answer[], wanted: number) =>
  answers.filter(({ status }) => status === wanted).length;

async function submissionsOf(linkId: string): Promise<{ id: string; lead_id: string }[]> {
  return system.query('SELECT id, lead_id FROM submission WHERE link_id = $1 ORDER BY id', [
    linkId,
  ]);
}

test('a limit of a link is one limit for all receivers, to the last post', async () => {
  const LIMIT = 50;
  for (;;) {
    const { linkId, code } = await system.openLink({ linkLimit: LIMIT });
    const minute = await redisMinute();
    const answers = await Promise.all(
      times(3 * LIMIT, (i) => post(i, code, { email: `limited-${i}@example.com` })),
    );
    // Limits count by the minute of Redis's clock: one that ended meanwhile says nothing, nor does a
    // post that was counted, perhaps, and not accepted.
    if ((await redisMinute()) !== minute || countOf(answers, 503) > 0) continue;
    expect([countOf(answers, 202), countOf(answers, 429)]).toEqual([LIMIT, 2 * LIMIT]);
    await system.settle();
    expect(await submissionsOf(linkId)).toHaveLength(LIMIT);
    return;
  }
}, 60_000);

async function redisMinute(): Promise<number> {
  const [seconds] = await system.redis.time();
  return Math.floor(Number(seconds) / 60);
}

test('a key is one submission, whichever receivers hear it, and of one body', async () => {
  const { linkId, code } = await system.openLink();
  const keys = times(10, (i) => `key-${i}`);
  const answers = await Promise.all(
    keys.flatMap((key) =>
      times(6, (i) => postKeyed(i, code, { email: `${key}@example.com` }, key)),
    ),
  );
  expect(countOf(answers, 202)).toBe(answers.length);
  const ids = new Set(answers.map(({ submissionId }) => submissionId));
  expect(ids.size).toBe(keys.length);
  for (const turn of [0, 1])
    expect((await postKeyed(turn, code, { email: 'other@example.com' }, 'key-0')).status).toBe(422);
  await system.settle();
  const stored = await submissionsOf(linkId);
  expect(new Set(stored.map(({ id }) => id))).toEqual(ids);
  for (const { submissionId, leadId } of answers)
    expect(stored.find(({ id }) => id === submissionId)?.lead_id).toBe(leadId);
}, 60_000);

test('three workers share the jobs of two receivers: each is applied, once', async () => {
  const { linkId, code } = await system.openLink();
  const answers = await Promise.all(
    times(300, (i) =>
      postKeyed(i, code, { email: `shared-${i % 100}@example.com`, name: `n${i}` }, `shared-${i}`),
    ),
  );
  expect(countOf(answers, 202)).toBe(answers.length);
  await system.settle();
  const stored = await submissionsOf(linkId);
  expect(stored.map(({ id }) => id)).toEqual(
    answers.map(({ submissionId }) => submissionId).sort(),
  );
  expect(new Set(stored.map(({ lead_id }) => lead_id)).size).toBe(100);
}, 60_000);

test('a change of a link reaches all receivers', async ({ annotate }) => {
  const { linkId, code } = await system.openLink();
  const reaches = async (change: (store: Store) => Promise<unknown>, status: number) => {
    await system.changeLink(linkId, change);
    const start = performance.now();
    for (const turn of system.receivers.keys())
      await expect
        .poll(async () => (await post(turn, code, {})).status, { timeout: 10_000, interval: 5 })
        .toBe(status);
    return performance.now() - start;
  };
  const took = [
    await reaches((store) => setLinkState(store, linkId, 'disabled'), 410),
    await reaches((store) => setLinkState(store, linkId, 'open'), 202),
    await reaches((store) => updateLink(store, linkId, { requireIdentity: true }), 422),
  ];
  // That it takes less than a second is written in docs/reliability.md; a busy machine may differ.
  await annotate(
    `changes of a link reached all receivers in ${took.map(Math.round).join(', ')} ms`,
  );
}, 60_000);
