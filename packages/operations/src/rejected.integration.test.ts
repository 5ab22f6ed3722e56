import type { RejectedBody } from '@leadgate/contract';
import {
  allowRetention,
  dropAcceptedBefore,
  listRejected,
  listSubmissions,
  rejectedCauses,
  type Run,
  saveRejected,
  searchRejected,
  showLead,
  showRejected,
  trimRejected,
  updateLink,
} from '@leadgate/store';
import { expect, test } from 'vitest';
import { derivedId } from './derived-id.ts';
import {
  mendRejected,
  mendWork,
  replayAllRejected,
  replayRejected,
  tryToMend,
} from './rejected-bodies.ts';
import { connectionsOf, operationsUnderTest } from '../test/operations.ts';
import { type Call, Refusal } from './operation.ts';
import { rejected } from './rejected.ts';
import { runOperation } from './run.ts';

const system = await operationsUnderTest();

let refused = 0;
const START = Date.UTC(2026, 10, 27, 12);

/** Refuses a body, a second after the one before. */
async function refuse(
  at: { workspaceId: string; linkId: string },
  body: string,
  more: Partial<RejectedBody> = {},
): Promise<RejectedBody> {
  const time = START + (refused += 1) * 1_000;
  const rejected: RejectedBody = {
    id: derivedId(time, [`refused ${refused}`]),
    ...at,
    stamp: time * 1_000,
    code: 'invalid-lead',
    errors: [{ pointer: '/email', code: 'email', detail: 'Not an email.' }],
    body,
    bodyType: 'json',
    page: 'https://lp.example/',
    ...more,
  };
  await saveRejected(system.store, [rejected]);
  return rejected;
}

const now = () => ({ now: Date.now() });

const CALL: Call = {
  actor: { kind: 'token', name: 'test', role: 'operator', workspaces: [] },
  ...{ requestId: null, signal: new AbortController().signal, warn: () => undefined },
};

const connections = connectionsOf(system);

test('a mended body becomes a lead, with the time it was sent at and an order of now', async () => {
  const link = await system.open();
  const { id, stamp } = await refuse(
    link,
    '{"email":"ana@","name":"Ana","address":{"city":"Olinda"}}',
  );
  expect(await replayRejected(system, id, now())).toMatchObject({
    kind: 'refused',
    errors: [{ pointer: '/email' }],
  });
  const values = { email: 'ana@example.com', 'address.city': 'Recife', name: '' };
  expect(await mendRejected(system.store, id, { kind: 'set', values }, now())).toMatchObject({
    kind: 'mended',
    errors: [],
  });
  const replayed = await replayRejected(system, id, now());
  if (replayed.kind !== 'accepted') throw new Error(replayed.kind);
  expect(system.queue).toMatchObject([
    { id: replayed.submissionId, stamp, source: 'post', page: 'https://lp.example/' },
  ]);
  expect(system.queue[0]?.order).toBeGreaterThan(stamp);
  await system.work();
  const lead = await showLead(system.store, replayed.leadId, { historyLimit: 5 });
  expect(lead).toMatchObject({ email: 'ana@example.com', address: { city: 'Recife' } });
  expect(lead).not.toHaveProperty('name');
  const kept = await showRejected(system.store, id);
  expect(kept).toMatchObject({ submissionId: replayed.submissionId });
  expect(kept?.body).toContain('"ana@"');
});

test('what a lead heard since is not overwritten by what was refused before', async () => {
  const link = await system.open();
  const old = await refuse(link, '{"email":"bia@example.com","name":"Old"}');
  const newer = await refuse(link, '{"email":"bia@example.com","name":"New","city":"Recife"}');
  for (const { id } of [newer, old])
    expect((await replayRejected(system, id, now())).kind).toBe('accepted');
  const leadId = system.queue[0]?.leadId ?? '';
  await system.work();
  expect(await showLead(system.store, leadId, { historyLimit: 5 })).toMatchObject({
    name: 'New',
    city: 'Recife',
    submissions: 2,
  });
});

test('replaying twice, at once or after a crash before it was marked, makes one submission', async () => {
  const link = await system.open();
  const { id } = await refuse(link, '{"email":"caio@example.com"}');
  const both = await Promise.all([1, 2].map(() => replayRejected(system, id, now())));
  expect(new Set(both.map((one) => 'submissionId' in one && one.submissionId)).size).toBe(1);
  await system.work();
  expect((await replayRejected(system, id, now())).kind).toBe('already-replayed');
  await system.store.prisma.rejectedSubmission.update({
    where: { id },
    data: { submissionId: null, replayedAt: null },
  });
  expect((await replayRejected(system, id, now())).kind).toBe('already-replayed');
  expect(system.queue).toEqual([]);
  expect((await showRejected(system.store, id))?.submissionId).not.toBeNull();
  expect(await listSubmissions(system.store, { linkId: link.linkId }, 10)).toHaveLength(1);
});

test('a list that was refused is its rows once a mapping says so, all of them or none', async () => {
  const link = await system.open();
  const { id } = await refuse(link, '{"of":[{"mail":"duda@example.com"},{"mail":"enzo"}]}');
  const mapping = { preset: null, rules: { email: ['$.mail'] }, rows: '$.of' };
  await updateLink(system.store, link.linkId, { mapping });
  expect(await replayRejected(system, id, now())).toMatchObject({
    ...{ kind: 'refused', errors: [{ pointer: '/email' }] },
  });
  expect(system.queue).toEqual([]);
  const lenient = { ...now(), lenient: true };
  const replayed = await replayRejected(system, id, lenient);
  expect(system.queue).toMatchObject([
    {
      id: replayed.kind === 'accepted' && replayed.submissionId,
      lead: { email: 'duda@example.com' },
    },
    { lead: {}, notes: [{ field: '/email', code: 'set-aside' }] },
  ]);
  await system.work();
  expect((await replayRejected(system, id, lenient)).kind).toBe('already-replayed');
  expect(await listSubmissions(system.store, { linkId: link.linkId }, 10)).toHaveLength(2);
});

test('all that fit are replayed, and what is still wrong stays, unless it is set aside', async () => {
  const link = await system.open();
  const other = await system.open();
  await refuse(link, '{"email":"d1@example.com","telephone":"x"}');
  await refuse(link, '{"email":"d2@example.com"}');
  await refuse(link, '{"email":', { code: 'malformed-json', errors: [] });
  await refuse(other, '{"email":"d3@example.com"}');
  const kinds = async (options: object) => {
    const found: string[] = [];
    const filter = { linkId: link.linkId };
    for await (const { outcome } of replayAllRejected(system, filter, { ...now(), ...options }))
      found.push(outcome.kind);
    return found;
  };
  expect(await kinds({ dryRun: true })).toEqual(['refused', 'acceptable', 'refused']);
  expect(system.queue).toEqual([]);
  expect(await kinds({})).toEqual(['refused', 'accepted', 'refused']);
  expect(await kinds({ lenient: true })).toEqual(['refused', 'accepted']);
  expect(await kinds({ lenient: true })).toEqual(['refused']);
  expect(system.queue).toHaveLength(2);
  await system.work();
});

test('a form is mended field by field, and what cannot be parsed as a whole', async () => {
  const link = await system.open();
  const form = await refuse(link, 'email=e%40&address[city]=Recife', { bodyType: 'form' });
  const set = { kind: 'set', values: { email: 'e@example.com' } } as const;
  expect(await mendRejected(system.store, form.id, set, now())).toMatchObject({
    body: '{"email":"e@example.com","address":{"city":"Recife"}}',
    errors: [],
  });
  const broken = await refuse(link, '{"email":');
  expect((await mendRejected(system.store, broken.id, set, now())).kind).toBe('unparsable');
  const body = { kind: 'body', body: '{"telephone":"1"}', bodyType: 'json' } as const;
  expect(await mendRejected(system.store, broken.id, body, now())).toMatchObject({
    kind: 'mended',
    errors: [{ pointer: '/telephone' }],
  });
});

test('a field named like a prototype harms nothing', async () => {
  const link = await system.open();
  const { id } = await refuse(link, '{"name":"Ana"}');
  const values = { __proto__x: '1', '__proto__.polluted': 'yes', constructor: 'x' };
  expect((await mendRejected(system.store, id, { kind: 'set', values }, now())).kind).toBe(
    'mended',
  );
  expect('polluted' in {}).toBe(false);
});

test('a workspace that Redis does not hold is not claimed in', async () => {
  const link = await system.open();
  const { id } = await refuse(link, '{"email":"f@example.com"}');
  await system.redis.del(`leadgate:{${link.workspaceId}}:state`);
  expect(await replayRejected(system, id, now())).toEqual({ kind: 'behind' });
  expect((await showRejected(system.store, id))?.submissionId).toBeNull();
});

test('are found by link, code, error and time, page by page', async () => {
  const link = await system.open();
  const all = [];
  for (let n = 0; n < 5; n += 1) all.push(await refuse(link, '{}'));
  const odd = await refuse(link, '{}', { code: 'identity-required', errors: [] });
  const find = async (filter: object, limit = 10) =>
    (await listRejected(system.store, { linkId: link.linkId, ...filter }, limit)).map(
      ({ rejectedId }) => rejectedId,
    );
  expect(await find({ code: 'identity-required' })).toEqual([odd.id]);
  expect(await find({ code: 'email' })).toEqual(all.map(({ id }) => id).toReversed());
  const since = new Date((all[3]?.stamp ?? 0) / 1_000);
  expect(await find({ since })).toEqual([odd.id, all[4]?.id, all[3]?.id]);
  expect(await find({ before: all[2]?.id }, 1)).toEqual([all[1]?.id]);
});

test('the newest of a link stay, those of other links too, and old ones go by their age', async () => {
  const link = await system.open();
  const other = await system.open();
  const mine = [];
  for (let n = 0; n < 4; n += 1) mine.push(await refuse(link, '{}'));
  await refuse(other, '{}');
  expect(await trimRejected(system.store, link.linkId, 2)).toBe(2);
  expect(await trimRejected(system.store, link.linkId, 2)).toBe(0);
  const left = async ({ linkId }: { linkId: string }) =>
    (await listRejected(system.store, { linkId }, 10)).length;
  expect([await left(link), await left(other)]).toEqual([2, 1]);
  const newest = mine[3]?.id ?? '';
  // A Date has milliseconds only, in which all of them may have come.
  await system.store.prisma.$executeRaw`
    UPDATE rejected_submission SET created_at = created_at - interval '1 second'
    WHERE link_id = ${link.linkId}::uuid AND id <> ${newest}::uuid`;
  const { createdAt } = await system.store.prisma.rejectedSubmission.findUniqueOrThrow({
    where: { id: newest },
  });
  await allowRetention(system.store, 'rejected_submission', createdAt);
  await dropAcceptedBefore(system.store, 'rejected_submission', createdAt);
  expect([await left(link), await left(other)]).toEqual([1, 1]);
});

test('what was refused for the same is a cause, whatever the order of its faults, and goes when it is mended', async () => {
  const link = await system.open();
  const fault = (name: string) => ({ pointer: `/${name}`, code: `bad-${name}`, detail: '.' });
  const both = [fault('email'), fault('telephone')];
  for (const errors of [both, both.toReversed()]) await refuse(link, '{"name":"Two"}', { errors });
  for (let n = 1; n <= 12; n += 1)
    await refuse(link, `{"email":"m${n}@example.com","telephone":"@m${n}"}`, {
      errors: [fault('telephone')],
    });
  const causes = await rejectedCauses(system.store, link.workspaceId);
  expect(causes).toMatchObject([
    { total: 12, code: 'invalid-lead', linkLabel: 'Landing', errors: [{ pointer: '/telephone' }] },
    { total: 2 },
  ]);
  const { cause = '' } = causes[0] ?? {};
  const how = { cause, linkId: link.linkId, move: { telephone: 'instagram' } };
  expect(await tryToMend(system, link.workspaceId, how)).toEqual({
    ...{ accepted: 12, refused: 0, more: false },
  });
  const strict = { cause, linkId: link.linkId };
  expect(await tryToMend(system, link.workspaceId, strict)).toMatchObject({ refused: 12 });
  expect(await rejectedCauses(system.store, link.workspaceId)).toHaveLength(2);

  // Stopped at the first of those that are done at once, and gone on with.
  const stop = new AbortController();
  const task: Run = {
    ...{ id: 'r', workspaceId: link.workspaceId, parameters: how },
    ...{ kind: 'mend' as const, state: 'running' as const },
    ...{ stopping: false, progress: {}, cursor: null, problem: null, endedAt: null, file: null },
    ...{
      begunBy: { kind: 'operator' as const, name: 'Ana' },
      begunAt: new Date(),
      changedAt: new Date(),
    },
  };
  const told: { progress: Record<string, number>; cursor: string | null }[] = [];
  await mendWork(
    {
      run: { ...task },
      signal: stop.signal,
      tell(progress, cursor) {
        told.push({ progress: { ...progress }, cursor: cursor ?? null });
        stop.abort();
      },
    },
    connections,
  );
  expect(told.map(({ progress }) => progress.accepted)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  const first = told.at(-1);
  if (first === undefined) throw new Error('nothing told');
  const goesOn = new AbortController();
  await mendWork(
    {
      run: { ...task, ...first },
      signal: goesOn.signal,
      tell: (progress) => void told.push({ progress: { ...progress }, cursor: null }),
    },
    connections,
  );
  expect(told.at(-1)).toMatchObject({ progress: { accepted: 12, refused: 0 } });
  const leadId = system.queue[0]?.leadId ?? '';
  await system.work();
  const lead = await showLead(system.store, leadId, { historyLimit: 1 });
  expect(lead?.instagram).toMatch(/m\d+$/);
  expect(lead).not.toHaveProperty('telephone');
  expect(await rejectedCauses(system.store, link.workspaceId)).toMatchObject([{ total: 2 }]);
});

test('a refused post is found by what it says, as JSON or as a form, in its workspace only', async () => {
  const [link, other] = [await system.open(), await system.open()];
  await refuse(link, '{"email":"Zelia@example.com."}');
  await refuse(link, 'email=zelia%40example.com.', { bodyType: 'form' });
  await refuse(other, '{"email":"zelia@example.com."}');
  const found = await searchRejected(
    system.store,
    { workspaceId: link.workspaceId, text: 'zelia@example.com' },
    10,
  );
  expect(found.map(({ bodyType }) => bodyType).toSorted()).toEqual(['form', 'json']);
});

test('what is dismissed waits no more, is taken by no run that mends many, and can wait again', async () => {
  const link = await system.open();
  const kept = [];
  for (let n = 0; n < 3; n += 1) kept.push(await refuse(link, `{"email":"k${n}@example.com"}`));
  const { workspaceId, linkId } = link;
  const [{ cause = '' } = {}] = await rejectedCauses(system.store, workspaceId);
  const dismiss = (which: object) =>
    runOperation(rejected.dismiss, { workspaceId, ...which }, connections, CALL);
  const restore = (which: object) =>
    runOperation(rejected.restore, { workspaceId, ...which }, connections, CALL);
  expect(await dismiss({})).toMatchObject({ code: 'invalid' });
  expect(await restore({})).toMatchObject({ code: 'invalid' });
  const one = { rejectedIds: [kept[0]?.id ?? ''] };
  expect(await dismiss(one)).toMatchObject({ count: 1 });
  expect(await dismiss(one)).toMatchObject({ count: 0 });
  expect(await rejectedCauses(system.store, workspaceId)).toMatchObject([{ total: 2 }]);
  expect(await tryToMend(system, workspaceId, { linkId })).toMatchObject({ accepted: 2 });

  const all = await dismiss({ linkId, cause });
  if (all instanceof Refusal) throw new Error(all.detail);
  expect(all.count).toBe(2);
  expect(await rejectedCauses(system.store, workspaceId)).toEqual([]);
  // Those that were dismissed together, and no other.
  expect(await restore({ dismissedAt: all.dismissedAt.toISOString() })).toEqual({ count: 2 });
  expect(await rejectedCauses(system.store, workspaceId)).toMatchObject([{ total: 2 }]);
  // By its id it is taken all the same.
  expect((await replayRejected(system, kept[0]?.id ?? '', now())).kind).toBe('accepted');
  await system.work();
});
