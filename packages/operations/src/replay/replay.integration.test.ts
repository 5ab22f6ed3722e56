import { randomUUID } from 'node:crypto';
import type { Lead, Submission } from '@leadgate/contract';
import { archiveField, createField, listSubmissions, showLead } from '@leadgate/store';
import { testDatabase, testRedis } from '@leadgate/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acceptBody } from '../accept.ts';
import { derivedId } from '../derived-id.ts';
import { operationsUnderTest, type OperationsUnderTest } from '../operations-under-test.ts';
import { changesOfReplay, countReplay, replaySubmissions } from './replay-submissions.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let house: OperationsUnderTest;
beforeAll(async () => {
  database = await testDatabase();
  const redis = await testRedis();
  house = await operationsUnderTest({ databaseUrl: database.url, redisUrl: redis.url });
});
afterAll(async () => {
  await house.close();
  await database.drop();
});

type Link = { workspaceId: string; linkId: string };
let posts = 0;

/** Captures a lead, up to Postgres. */
async function capture(link: Link, lead: Lead): Promise<{ leadId: string; submissionId: string }> {
  const submissionId = derivedId(Date.now(), [String((posts += 1))]);
  const outcome = await acceptBody(house, {
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
  await house.work();
  return { leadId: outcome.leadId, submissionId };
}

async function addField(workspaceId: string, name: string): Promise<string> {
  const field = { name, label: name, type: 'text', options: [] } as const;
  const creation = await createField(house.store, workspaceId, { ...field, options: [] });
  if (creation.kind !== 'created') throw new Error(creation.kind);
  return creation.field.id;
}

const customFieldsOf = async (leadId: string) =>
  (await showLead(house.store, leadId, { historyLimit: 1 }))?.customFields;

/** Replays as the queue and a worker would. */
async function replay(link: Link, filter: object = {}): Promise<Submission[]> {
  const later = { until: new Date(Date.now() + 60_000), ...filter };
  const { enqueued } = await replaySubmissions(house, link.workspaceId, later, {
    runId: randomUUID(),
  });
  const replayed = [...house.queue];
  expect(enqueued).toBe(replayed.length);
  await house.work();
  return replayed;
}

async function changes(link: Link, filter: object = {}) {
  const all = [];
  for await (const change of changesOfReplay(house.store, link.workspaceId, filter))
    all.push(change);
  return all;
}

test('the field that was forgotten is filled for the leads those submissions created, and only those', async () => {
  const link = await house.open();
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
  const [, , first] = await listSubmissions(house.store, { linkId: link.linkId }, 10);
  expect(first).toMatchObject({ submissionId: ana.submissionId, notes: [] });
});

test('a replay overwrites nothing newer, adds no submission, and keeps the values of archived fields', async () => {
  const link = await house.open();
  const fieldId = await addField(link.workspaceId, 'antigo');
  const { leadId } = await capture(link, {
    email: 'caio@x.example',
    name: 'Old',
    customFields: { antigo: 'x' },
  });
  await capture(link, { email: 'caio@x.example', name: 'New' });
  await archiveField(house.store, fieldId);
  const before = await showLead(house.store, leadId, { historyLimit: 5 });
  await replay(link);
  await replay(link);
  const after = await showLead(house.store, leadId, { historyLimit: 5 });
  expect(after).toMatchObject({ name: 'New', submissions: 2, customFields: { antigo: 'x' } });
  expect(after?.provenance).toEqual(before?.provenance);
});

test('are chosen by link, lead, time, outcome and note, across the pages', async () => {
  const link = await house.open();
  const other = await house.open();
  const first = await capture(link, { email: 'd1@x.example', customFields: { nada: '1' } });
  await capture(link, { email: 'd2@x.example' });
  await capture(link, { email: 'd1@x.example', name: 'D' });
  await capture(other, { email: 'd1@x.example' });
  const of = (filter: object) => countReplay(house.store, link.workspaceId, filter);
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

test('stops where it is told to, and goes on after the last one', async () => {
  const link = await house.open();
  for (let n = 0; n < 4; n += 1) await capture(link, { email: `e${n}@x.example` });
  const stop = new AbortController();
  const seen: string[] = [];
  const producer = {
    replay: ({ id }: Submission) => {
      seen.push(id);
      if (seen.length === 2) stop.abort();
      return Promise.resolve();
    },
  };
  const servers = { store: house.store, producer };
  const until = new Date(Date.now() + 60_000);
  const options = { runId: 'r', perSecond: 1_000 };
  const { lastOrder, stopped } = await replaySubmissions(
    servers,
    link.workspaceId,
    { until },
    { ...options, perSecond: 10, signal: stop.signal },
  );
  expect({ stopped, seen: seen.length }).toEqual({ stopped: true, seen: 2 });
  await replaySubmissions(
    servers,
    link.workspaceId,
    { until, ...(lastOrder !== null && { afterOrder: lastOrder }) },
    options,
  );
  expect(new Set(seen).size).toBe(4);
});
