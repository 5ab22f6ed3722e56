import { PassThrough, Readable } from 'node:stream';
import type { Lead, Submission } from '@leadgate/contract';
import {
  archiveField,
  createField,
  listSubmissions,
  showLead,
  takeFilesOfRuns,
} from '@leadgate/store';
import { expect, test } from 'vitest';
import { acceptBody } from '../accept.ts';
import { derivedId } from '../derived-id.ts';
import {
  connectionsOf,
  operationsUnderTest,
  type OperationsUnderTest,
} from '../../test/operations.ts';
import { Refusal, type Call } from '../operation.ts';
import { run as runs, type Started } from '../runs.ts';
import { startImport } from '../import/import-run.ts';
import { previewReplay, replayWork } from './replay-submissions.ts';

const system = await operationsUnderTest();

type Link = { workspaceId: string; linkId: string };
let posts = 0;

/** Captures a lead, up to Postgres. */
async function capture(link: Link, lead: Lead): Promise<{ leadId: string; submissionId: string }> {
  const submissionId = derivedId(Date.now(), [String((posts += 1))]);
  const outcome = await acceptBody(system, {
    submissionId,
    link,
    reading: { kind: 'read', lead, identities: [`email:${lead.email}`], notes: [] },
    stamp: null,
    source: 'post',
    background: false,
    body: JSON.stringify(lead),
    bodyType: 'json',
    page: 'https://lp.example/',
  });
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  await system.work();
  return { leadId: outcome.leadId, submissionId };
}

async function addField(workspaceId: string, name: string): Promise<string> {
  const field = { name, label: name, type: 'text', options: [] } as const;
  const creation = await createField(system.store, workspaceId, { ...field, options: [] });
  if (creation.kind !== 'created') throw new Error(creation.kind);
  return creation.field.id;
}

const customFieldsOf = async (leadId: string) =>
  (await showLead(system.store, leadId, { historyLimit: 1 }))?.customFields;

/** What operations have in a process of their own. */
const processOf = (producer: Partial<OperationsUnderTest['producer']> = {}) =>
  connectionsOf({ ...system, producer: { ...system.producer, ...producer } });

const BEGUN_BY = { kind: 'token', name: 'tests' } as const;

async function begin(link: Link, filter: object, connections = processOf()): Promise<Started> {
  const parameters = { until: new Date(Date.now() + 60_000).toISOString(), ...filter };
  const asked = { workspaceId: link.workspaceId, parameters, begunBy: BEGUN_BY };
  return started(
    await connections.runner.begin(connections, { ...asked, kind: 'replay' }, replayWork),
  );
}

function started<T>(given: T | Refusal): T {
  if (given instanceof Refusal) throw new Error(given.detail);
  return given;
}

/** Replays as the queue and a worker would. */
async function replay(link: Link, filter: object = {}): Promise<Submission[]> {
  const { ended } = await begin(link, filter);
  expect(await ended).toMatchObject({ state: 'done' });
  const replayed = [...system.queue];
  await system.work();
  return replayed;
}

const changes = async (link: Link) =>
  (await previewReplay(system.store, link.workspaceId, {}, new AbortController().signal)).changes;

test('the field that was forgotten is filled for the leads those submissions created, and only those', async () => {
  const link = await system.open();
  const ana = await capture(link, { email: 'ana@x.example', customFields: { plano: 'ouro' } });
  const bia = await capture(link, { email: 'bia@x.example', name: 'Bia' });
  await capture(link, { email: 'bia@x.example', customFields: { plano: 'prata' } });
  expect(await customFieldsOf(ana.leadId)).toEqual({});
  await addField(link.workspaceId, 'plano');

  expect(await changes(link)).toEqual([
    {
      leadId: ana.leadId,
      submissionId: ana.submissionId,
      filled: ['plano'],
      changed: [],
      emptied: [],
    },
  ]);
  const replayed = await replay(link);
  expect(replayed).toHaveLength(3);
  expect(replayed[0]).toMatchObject({ page: 'https://lp.example/', source: 'post' });
  expect(await customFieldsOf(ana.leadId)).toEqual({ plano: 'ouro' });
  expect(await customFieldsOf(bia.leadId)).toEqual({});
  expect(await changes(link)).toEqual([]);
  const [, , first] = await listSubmissions(system.store, { linkId: link.linkId }, 10);
  expect(first).toMatchObject({ submissionId: ana.submissionId, notes: [] });
});

test('a replay overwrites nothing newer, adds no submission, and keeps the values of archived fields', async () => {
  const link = await system.open();
  const fieldId = await addField(link.workspaceId, 'antigo');
  const { leadId } = await capture(link, {
    email: 'caio@x.example',
    name: 'Old',
    customFields: { antigo: 'x' },
  });
  await capture(link, { email: 'caio@x.example', name: 'New' });
  await archiveField(system.store, fieldId);
  const before = await showLead(system.store, leadId, { historyLimit: 5 });
  await replay(link);
  await replay(link);
  const after = await showLead(system.store, leadId, { historyLimit: 5 });
  expect(after).toMatchObject({ name: 'New', submissions: 2, customFields: { antigo: 'x' } });
  expect(after?.provenance).toEqual(before?.provenance);
});

test('are chosen by link, lead, time, outcome and note, across the pages', async () => {
  const link = await system.open();
  const other = await system.open();
  const first = await capture(link, { email: 'd1@x.example', customFields: { nada: '1' } });
  await capture(link, { email: 'd2@x.example' });
  await capture(link, { email: 'd1@x.example', name: 'D' });
  await capture(other, { email: 'd1@x.example' });
  const of = async (filter: object) =>
    (await previewReplay(system.store, link.workspaceId, filter, new AbortController().signal))
      .submissions;
  expect(await of({})).toBe(3);
  expect(await of({ linkId: other.linkId })).toBe(0);
  expect(await of({ leadId: first.leadId })).toBe(2);
  expect(await of({ outcome: 'created' })).toBe(2);
  expect(await of({ outcome: 'updated' })).toBe(1);
  expect(await of({ note: 'unknown-custom-field' })).toBe(1);
  expect(await of({ since: new Date(Date.now() + 60_000) })).toBe(0);
  expect(await of({ until: new Date(Date.now() - 60_000) })).toBe(0);
  expect((await replay(link, { leadId: first.leadId })).map(({ lead }) => lead.email)).toEqual([
    'd1@x.example',
    'd1@x.example',
  ]);
});

/** A producer that notes what it is given, and enqueues nothing. */
function noting() {
  const seen: string[] = [];
  const replay = ({ id }: Submission) => {
    seen.push(id);
    return Promise.resolve();
  };
  return { seen, connections: processOf({ replay }) };
}

async function submissions(count: number): Promise<Link> {
  const link = await system.open();
  for (let n = 0; n < count; n += 1) await capture(link, { email: `e${n}@x.example` });
  return link;
}

const shown = async (id: string, connections = processOf()) =>
  started(await runs.show.run({ runId: id }, connections, CALL));
const CALL: Call = {
  actor: { ...BEGUN_BY, role: 'operator', workspaces: [] },
  ...{ requestId: null, signal: new AbortController().signal, warn: () => undefined },
};

test('a run is seen, stopped and resumed by another process, and enqueues each once', async () => {
  const link = await submissions(4);
  const [here, there] = [noting(), noting()];
  const { run, ended } = await begin(link, { perSecond: 2 }, here.connections);
  await expect.poll(() => here.seen.length).toBeGreaterThan(0);
  expect(await shown(run.id, there.connections)).toMatchObject({
    ...{ kind: 'replay', state: 'running', begunBy: BEGUN_BY, parameters: { perSecond: 2 } },
  });
  expect(await there.connections.runner.resume(there.connections, run.id)).toMatchObject({
    code: 'conflict',
  });
  await runs.stop.run({ runId: run.id }, there.connections, CALL);
  expect(await ended).toMatchObject({ state: 'stopped' });
  expect(here.seen.length).toBeLessThan(4);
  expect(await shown(run.id)).toMatchObject({ progress: { enqueued: here.seen.length } });
  const again = started(await there.connections.runner.resume(there.connections, run.id));
  expect(await again.ended).toMatchObject({ state: 'done', progress: { enqueued: 4 } });
  expect([...here.seen, ...there.seen]).toHaveLength(4);
  expect(new Set([...here.seen, ...there.seen]).size).toBe(4);
});

test('a run whose process went away is interrupted, and resumed; the process, if it lives, lets go', async () => {
  const link = await submissions(3);
  const [gone, next] = [noting(), noting()];
  const { run, ended } = await begin(link, { perSecond: 1 }, gone.connections);
  await expect.poll(() => gone.seen.length).toBe(1);
  await expect
    .poll(async () => {
      await system.store.prisma.$executeRaw`
        UPDATE run SET changed_at = now() - interval '31 seconds' WHERE id = ${run.id}::uuid`;
      return (await shown(run.id)).state;
    })
    .toBe('interrupted');
  await system.store.prisma.$executeRaw`
    UPDATE run SET changed_at = now() - interval '31 seconds' WHERE id = ${run.id}::uuid`;
  const again = started(await next.connections.runner.resume(next.connections, run.id));
  expect(await ended).toMatchObject({ state: 'stopped' });
  expect((await shown(run.id)).state).not.toBe('stopped');
  expect(await again.ended).toMatchObject({ state: 'done' });
  expect(new Set([...gone.seen, ...next.seen]).size).toBe(3);
});

test('a run that fails says so without data, and a process that closes stops its own in order', async () => {
  const link = await submissions(2);
  const failing = processOf({ replay: () => Promise.reject(new Error('secret@x.example')) });
  const { run, ended } = await begin(link, {}, failing);
  expect(await ended).toMatchObject({ state: 'failed' });
  expect((await shown(run.id)).problem).toContain('did not answer');
  const closing = noting();
  const second = await begin(link, { perSecond: 1 }, closing.connections);
  await closing.connections.runner.close();
  expect(await shown(second.run.id)).toMatchObject({ state: 'stopped' });
});

test('no more than eight run at once, and none twice under one id', async () => {
  const link = await submissions(2);
  const slow = noting();
  const { run } = await begin(link, { perSecond: 1 }, slow.connections);
  const twice = { id: run.id, kind: 'replay', workspaceId: link.workspaceId } as const;
  const asked = { ...twice, parameters: {}, begunBy: BEGUN_BY };
  expect(await slow.connections.runner.begin(slow.connections, asked, replayWork)).toMatchObject({
    code: 'conflict',
  });
  for (let n = 1; n < 8; n += 1) await begin(link, { perSecond: 1 }, slow.connections);
  await expect(begin(link, {}, slow.connections)).rejects.toThrow('as many run as may');
  await slow.connections.runner.close();
});

test('the file of refused rows goes with an erasure in its workspace, and is not left by imports that go on', async () => {
  const link = await system.open();
  const connections = processOf();
  const source = new PassThrough();
  const asked = { linkId: link.linkId, totalBytes: null, keepsRefused: true };
  const first = started(
    await startImport(connections, Readable.from('email\nnone\n'), asked, CALL),
  );
  await first.ended;
  const file = () => runs.refused.run({ runId: first.run.id }, connections, CALL);
  expect(await file()).toMatchObject({ name: 'refused.csv' });
  const second = started(await startImport(connections, source, asked, CALL));
  source.write('email\nnone\n');
  await takeFilesOfRuns(system.store, link.workspaceId);
  source.end();
  expect(await second.ended).toMatchObject({ state: 'done', progress: { refused: 1 } });
  expect(await file()).toMatchObject({ code: 'not-found' });
  expect((await shown(second.run.id)).file).toBeNull();
});
