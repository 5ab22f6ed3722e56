import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { openWorkspace } from '@leadgate/intake';
import { allOperations, type Operation, pathMembers } from '@leadgate/operations';
import { openProducer, queueCounts, startApplyWorker, type Producer } from '@leadgate/queue';
import {
  applyGroup,
  createField,
  createWorkspace,
  listAudit,
  saveHeld,
  saveRejected,
} from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import { connectRedis } from '@leadgate/boot';
import type { Submission } from '@leadgate/contract';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { consoleUnderTest, type Ask, type ConsoleUnderTest } from '../test/console.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let redisUrl: string;
let console_: ConsoleUnderTest;
let producer: Producer;
let operator: Ask;
let viewer: Ask;
let submission: Submission;

/** Each stands in one place of a submission, and in nothing that is not about the person. */
const MARKS = [
  'Zenobia',
  'zenobia.marker',
  '5511912345678',
  '52998224725',
  'Marker Street',
  'markerprofession',
  'markercustom',
  'markerpage',
  'markeragent',
  '198.51.100.199',
  'markersenderkey',
];

const LINK = '22222222-2222-4222-8222-222222222222';
const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

beforeAll(async () => {
  database = await testDatabase();
  redisUrl = (await testRedis()).url;
  console_ = await consoleUnderTest({ databaseUrl: database.url, redisUrl });
  producer = await openProducer(console_.redis, { logger });
  [operator, viewer] = await Promise.all([
    console_.signIn('Olga', 'operator'),
    console_.signIn('Vera', 'viewer'),
  ]);
  const created = await createWorkspace(console_.store, {
    name: 'Marked',
    country: 'BR',
    dummyPhones: [],
  });
  if (created.kind !== 'created') throw new Error(created.kind);
  const workspaceId = created.workspace.id;
  await openWorkspace(console_.redis, workspaceId);
  const field = { name: 'plano', label: 'Plano', type: 'text' as const, options: [] };
  await createField(console_.store, workspaceId, field);
  submission = marked(workspaceId, 1);
  await applyGroup(console_.store, [{ submission, replay: false }]);
  await saveRejected(console_.store, [
    {
      id: sampleSubmission(90).id,
      workspaceId,
      linkId: LINK,
      stamp: submission.stamp,
      code: 'invalid-lead',
      errors: [{ pointer: '/customFields/markersenderkey', code: 'x', detail: 'markercustom' }],
      body: submission.body,
      bodyType: 'json',
      page: submission.page ?? '',
      userAgent: submission.userAgent ?? '',
      address: submission.address ?? '',
    },
  ]);
});

afterAll(async () => {
  await producer.close();
  await console_.close();
  await database.drop();
});

function marked(workspaceId: string, n: number): Submission {
  const leadId = sampleSubmission(n).leadId;
  const lead = {
    name: 'Zenobia Person',
    email: 'zenobia.marker@example.com',
    telephone: '5511912345678',
    document: '52998224725',
    profession: 'markerprofession',
    address: { street: 'Marker Street' },
    utmSource: 'markersource',
    customFields: { plano: 'markercustom', markersenderkey: 'x' },
  };
  return sampleSubmission(n, {
    workspaceId,
    lead,
    identities: [
      { key: `email:${lead.email}`, owner: leadId },
      { key: `phone:+${lead.telephone}`, owner: leadId },
    ],
    notes: [{ field: '/customFields/markersenderkey', code: 'unknown-custom-field' }],
    body: JSON.stringify(lead),
    page: 'https://landing.example/?who=markerpage',
    userAgent: 'markeragent',
    address: '198.51.100.199',
  });
}

/** A telephone, a CPF and a CNPJ, as a text that may set them apart has them. */
const numbersIn = (text: string): string[] => {
  const digits = text.replaceAll(/[\s().+/-]/g, '');
  return ['912345678', '52998224725', '11222333000181'].filter((one) => digits.includes(one));
};

const marksIn = (text: string): string[] => MARKS.filter((mark) => text.includes(mark));

test('no address that a viewer can read tells anything about a person', async () => {
  await producer.enqueue(marked(submission.workspaceId, 2));
  const values: Record<string, string> = {
    workspaceId: submission.workspaceId,
    leadId: submission.leadId,
    submissionId: submission.id,
    linkId: LINK,
    rejectedId: sampleSubmission(90).id,
    jobId: sampleSubmission(2).id,
    queueName: encodeURIComponent('view-{leads-0}'),
  };
  const urls = console_.routes
    .filter(({ method }) => method === 'GET')
    .map(({ url }) => url.replace(/:(\w+)/g, (_, name: string) => values[name] ?? '0'));
  urls.push(
    `/api/submissions?leadId=${submission.leadId}`,
    `/queues/api/queues?activeQueue=${values.queueName}`,
    `/queues/api/queues?activeQueue=${values.queueName}&status=waiting`,
    `/queues/api/queues/${encodeURIComponent('{leads-0}')}/${values.jobId}`,
  );
  let shown = 0;
  // A stream that does not end has a test of its own.
  for (const url of urls.filter((one) => one !== '/api/tail')) {
    const { statusCode, body } = await viewer('GET', url);
    expect([url, marksIn(body)]).toEqual([url, []]);
    if (statusCode === 200) shown++;
  }
  expect(shown).toBeGreaterThan(20);
  for (const q of ['zenobia.marker@example.com', '+5511912345678']) {
    const found = await viewer('POST', '/api/leads/search', { payload: { q } });
    expect([found.json<object[]>().length, marksIn(found.body)]).toEqual([1, []]);
    // Nobody’s address holds what was looked for, nor does the audit log.
    const asked = `/api/leads?q=${encodeURIComponent(q)}`;
    const answer = await viewer('GET', asked);
    expect([answer.statusCode, marksIn(answer.body)]).toEqual([400, []]);
  }
  const [entry] = await listAudit(console_.store, { action: 'lead.find', limit: 1 });
  expect(entry).toMatchObject({ actor: { kind: 'operator' }, subject: {}, outcome: 'done' });
});

test('what happens is told as it happens: masked to a viewer, as it is to an operator', async () => {
  await console_.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = console_.app.server.address() as AddressInfo;
  const cookies = await Promise.all(
    [viewer, operator].map(async (ask) => (await ask('GET', '/')).raw.req.headers.cookie ?? ''),
  );
  const heard = ['', ''];
  const stop = new AbortController();
  const streams = cookies.map(async (cookie, who) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/tail`, {
      headers: { cookie },
      signal: stop.signal,
    });
    expect(answer.headers.get('content-type')).toContain('text/event-stream');
    const texts = answer.body?.pipeThrough(new TextDecoderStream()) ?? [];
    for await (const text of texts) heard[who] += String(text);
  });
  const ended = Promise.allSettled(streams);
  // Both have looked once: what was there before is not told.
  await vi.waitFor(
    () => expect(heard.map((text) => /still here/.test(text))).toEqual([true, true]),
    {
      timeout: 15_000,
    },
  );
  const now = Date.now() * 1_000;
  const late = { ...marked(submission.workspaceId, 77), order: now, stamp: now };
  await applyGroup(console_.store, [{ submission: late, replay: false }]);
  await vi.waitFor(
    () => expect(heard.map((text) => text.includes(late.id))).toEqual([true, true]),
    { timeout: 15_000 },
  );
  expect(heard.join('')).not.toContain(submission.id);
  expect(marksIn(heard[0] ?? '')).toEqual([]);
  expect(marksIn(heard[1] ?? '')).toContain('Zenobia');
  expect(numbersIn(heard[1] ?? '')).toEqual([]);
  expect(heard[0]).toMatch(/event: submission\ndata: \{"kind":"submission"/);
  // Who follows only looks, and at lists: the overview does it by itself.
  expect(await listAudit(console_.store, { action: 'tail', limit: 1 })).toEqual([]);
  const [cookie = ''] = cookies;
  const url = `http://127.0.0.1:${port}/api/tail`;
  const more = await Promise.all(
    [1, 2, 3].map(() => fetch(url, { headers: { cookie }, signal: stop.signal })),
  );
  expect(more.map(({ status }) => status).toSorted()).toEqual([200, 200, 429]);
  // Who has a role for one workspace follows that one and no other.
  const { workspaceId } = submission;
  const ofOne = await (await console_.withToken('viewer', workspaceId))('GET', '/api/me');
  const { authorization = '' } = ofOne.raw.req.headers;
  const asked = [`?workspaceId=${workspaceId}`, `?workspaceId=${randomUUID()}`, ''];
  const answers = await Promise.all(
    asked.map((query) => fetch(url + query, { headers: { authorization }, signal: stop.signal })),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 403]);
  stop.abort();
  await ended;
});

test('what is masked for a viewer is there for an operator', async () => {
  const lead = await operator('GET', `/api/leads/${submission.leadId}`);
  expect(marksIn(lead.body)).toContain('Zenobia');
  const name = encodeURIComponent('{leads-0}');
  const job = await operator('GET', `/queues/api/queues/${name}/${await waitingJob()}`);
  expect(job.body).toContain('"name":"apply 1"');
  expect(marksIn(job.body)).toEqual(expect.arrayContaining(['zenobia.marker', 'markeragent']));
  const masked = await viewer('GET', `/api/leads/${submission.leadId}`);
  expect(masked.json()).toMatchObject({ leadId: submission.leadId, email: 'z•••' });
});

/** Of one person or post, or what a program asks for instead of an export. */
const WHOLE = [
  ...['consent.list', 'failed.show', 'held.show', 'lead.changes', 'lead.person', 'lead.show'],
  ...['rejected.show', 'submission.show'],
];

test('no list tells anybody a telephone or a document; one person has them whole', async () => {
  const { workspaceId } = submission;
  const company = {
    ...{ name: '11.222.333/0001-81', document: '11222333000181', telephone: '5511912345678' },
    customFields: { plano: '529.982.247-25' },
  };
  const other = sampleSubmission(5, { workspaceId, lead: company, identities: [] });
  // One post that named both: a possible duplicate.
  const pair = marked(workspaceId, 6);
  const between = {
    ...pair,
    identities: pair.identities.map(({ key }, at) => ({
      ...{ key, owner: at === 0 ? submission.leadId : other.leadId },
    })),
  };
  for (const one of [other, { ...between, leadId: submission.leadId }])
    await applyGroup(console_.store, [{ submission: one, replay: false }]);
  const held = {
    ...marked(workspaceId, 8),
    lead: company,
    held: { reason: 'honeypot' as const, keys: [] },
  };
  await saveHeld(console_.store, [held]);
  const failedId = await failMarked(workspaceId, 9);

  const administrator = await console_.withToken('administrator');
  const ids: Record<string, string> = {
    ...{ workspaceId, leadId: submission.leadId, submissionId: submission.id, linkId: LINK },
    ...{ rejectedId: sampleSubmission(90).id, heldId: held.id, jobId: failedId },
  };
  const bodies: Record<string, object> = {
    'lead.find': { name: 'Zenobia' },
    'rejected.search': { q: '912345678' },
  };
  const ask = async ({ name, method, path, input }: Operation) => {
    const url = path.replace(/:(\w+)/g, (_, member: string) => ids[member] ?? '0');
    if (method === 'POST') {
      const payload = { ...bodies[name], ...(name === 'lead.find' && { workspaceId }) };
      return administrator('POST', `/api${url}`, { payload });
    }
    const asksOf = 'workspaceId' in input.properties && !path.includes(':workspaceId');
    return administrator('GET', `/api${url}${asksOf ? `?workspaceId=${workspaceId}` : ''}`);
  };
  const whole: string[] = [];
  for (const operation of await allOperations()) {
    const { name, method, personal, output } = operation;
    if ((method !== 'GET' && personal === false) || output === null) continue;
    const { statusCode, body } = await ask(operation);
    const isOfTheirs = pathMembers(operation).every((member) => ids[member] !== undefined);
    if (personal !== false && isOfTheirs) expect([name, statusCode]).toEqual([name, 200]);
    if (personal === 'whole') whole.push(name);
    else expect([name, numbersIn(body)]).toEqual([name, []]);
    // Of whom there is something in each of them.
    if (personal === 'list') expect([name, body]).toEqual([name, expect.stringMatching(THERE)]);
  }
  expect(whole.toSorted()).toEqual(WHOLE);
  const shown = await administrator('GET', `/api/leads/${other.leadId}`);
  expect(numbersIn(shown.body)).toHaveLength(3);
  // A viewer goes on to the next page too.
  const pageOf = (payload: object) =>
    viewer('POST', `/api/workspaces/${workspaceId}/leads/search`, { payload });
  const { next } = (await pageOf({ limit: 1 })).json<{ next: string }>();
  expect((await pageOf({ after: next })).statusCode).toBe(200);
  for (const status of ['waiting', 'failed']) {
    const queue = encodeURIComponent('{leads-0}');
    const url = `/queues/api/queues?activeQueue=${queue}&status=${status}`;
    const { body } = await operator('GET', url);
    expect([status, body.includes('Zenobia'), numbersIn(body)]).toEqual([status, true, []]);
  }
  await console_.redis.zrem(`${QUEUE}:failed`, failedId);
  await console_.redis.del(`${QUEUE}:${failedId}`);
});

const THERE = /"(leadId|heldId|rejectedId|submissionId)"/;
const QUEUE = 'leadgate:{leads-0}';

/** As if it had been tried until it was out of attempts. */
async function failMarked(workspaceId: string, n: number): Promise<string> {
  const { id, ...sent } = marked(workspaceId, n);
  await producer.enqueue({ id, ...sent });
  const group = await console_.redis.lpop(`${QUEUE}:wait`);
  await console_.redis.rename(`${QUEUE}:${group ?? ''}`, `${QUEUE}:${id}`);
  await console_.redis.hset(`${QUEUE}:${id}`, { failedReason: 'no', atm: 5, finishedOn: 1_000 });
  await console_.redis.zadd(`${QUEUE}:failed`, 1_000, id);
  return id;
}

const waitingJob = async () =>
  (await (await console_.queues.current())[0]?.getWaiting())?.[0]?.id ?? '';

test('a viewer cannot guess masked data letter by letter', async () => {
  for (const part of ['zenobia', 'zenobia.marker@', '91234', 'Person'])
    expect((await search(viewer, part)).json()).toEqual([]);
  expect((await search(operator, 'zenobia')).json()).toHaveLength(1);
});

const search = (ask: Ask, q: string) => ask('POST', '/api/leads/search', { payload: { q } });

test('a viewer cannot try one telephone after the other, nor hold every stream', async () => {
  const statuses: number[] = [];
  for (let n = 0; n < 32; n += 1)
    statuses.push((await search(viewer, `+55119${String(n).padStart(8, '0')}`)).statusCode);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(1);
  expect((await search(operator, 'zenobia')).statusCode).toBe(200);
});

test('a viewer’s dashboard is read-only, and an operator cannot remove leads there either', async () => {
  const id = await waitingJob();
  const [open, masked] = ['{leads-0}', 'view-{leads-0}'].map(encodeURIComponent);
  for (const name of [open, masked]) {
    const answer = await viewer('PUT', `/queues/api/queues/${name}/${id}/retry`);
    expect(answer.statusCode).toBe(403);
  }
  for (const path of ['empty', 'obliterate', `${id}/clean`, 'clean/failed'])
    expect([
      path,
      (await operator('PUT', `/queues/api/queues/${open}/${path}`)).statusCode,
    ]).toEqual([path, 403]);
  const add = await operator('POST', `/queues/api/queues/${open}/add`, { payload: { data: {} } });
  expect(add.statusCode).toBe(403);
  expect((await queueCounts(console_.redis)).waiting).toBe(1);
});

test('a retry from the dashboard gives a failed job all its attempts again', async () => {
  const workerRedis = connectRedis(redisUrl, { role: 'worker' });
  let tries = 0;
  const worker = await startApplyWorker(workerRedis, {
    concurrency: 1,
    logger,
    apply: (submissions, { alone }) => {
      if (alone) tries += 1;
      return Promise.resolve(submissions.map(() => ({ kind: 'failed', reason: 'no' })));
    },
  });
  const id = sampleSubmission(2).id;
  const job = async () => await (await console_.queues.current())[0]?.getJob(id);
  // Its waits between attempts are skipped.
  await vi.waitFor(
    async () => {
      const waiting = await job();
      if ((await waiting?.getState()) === 'delayed') await waiting?.promote();
      expect(await waiting?.getState()).toBe('failed');
    },
    { timeout: 15_000 },
  );
  expect(tries).toBe(5);
  await worker.close({ timeoutMs: 5_000 });
  const name = encodeURIComponent('{leads-0}');
  const retried = await operator('PUT', `/queues/api/queues/${name}/retry/failed`);
  expect(retried.json()).toMatchObject({ retried: 1 });
  expect(await job()).toMatchObject({ attemptsMade: 0 });
  workerRedis.disconnect();
});

test('a page of the dashboard holds twenty jobs at most, whatever is asked for', async () => {
  for (let n = 0; n < 30; n += 1)
    await producer.enqueue(sampleSubmission(1_000 + n, { workspaceId: submission.workspaceId }));
  const name = encodeURIComponent('{leads-0}');
  const url = `/queues/api/queues?activeQueue=${name}&status=waiting&page=1&jobsPerPage=1000000`;
  const [queue] = (await operator('GET', url)).json<{ queues: { jobs: unknown[] }[] }>().queues;
  expect(queue?.jobs).toHaveLength(20);
});
