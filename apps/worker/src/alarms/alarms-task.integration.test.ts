import { randomUUID } from 'node:crypto';
import { awaitRedis, connectRedis } from '@leadgate/boot';
import type { Submission } from '@leadgate/contract';
import { countLinks } from '@leadgate/intake';
import {
  addUpTallies,
  applyGroup,
  listAlarms,
  openAlarms,
  openStore,
  quietLink,
} from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import { v7 as uuidv7 } from 'uuid';
import { afterEach, expect, test, vi } from 'vitest';
import { createCloses, makeWorkspace } from '../../test/worker.ts';
import { createAlarmsTask } from './alarms-task.ts';

const DAY_MS = 86_400_000;

const closes = createCloses();
afterEach(closes.all);

test('alarms of links, books and endpoints open once, are told, and close by themselves', async () => {
  const [database, { url }] = await Promise.all([testDatabase(), testRedis()]);
  closes.add('database', database.drop);
  const store = openStore({ url: database.url, poolSize: 2 });
  closes.add('store', store.close);
  const redis = connectRedis(url, { role: 'admin' });
  closes.add('redis', () => redis.disconnect());
  await awaitRedis(redis);
  const workspaceId = await makeWorkspace(store);
  const link = async (label: string) => {
    const id = randomUUID();
    await store.prisma.captureLink.create({ data: { id, workspaceId, label } });
    await store.prisma.captureCode.create({ data: { code: id, linkId: id } });
    // 90 posts an hour for four weeks, and none in the last hour.
    await store.prisma.$executeRaw`
      INSERT INTO series_hour
      SELECT ${id}::uuid, date_trunc('hour', now()) - n * interval '1 hour', 'accepted', 90
      FROM generate_series(1, 671) AS n`;
    await store.prisma.$executeRaw`
      INSERT INTO series_minute
      SELECT ${id}::uuid, date_trunc('minute', now()) - n * interval '1 minute', 'accepted', 3
      FROM generate_series(60, 600, 2) AS n`;
    return id;
  };
  const [silent, meant, renamed] = [
    await link('Silent'),
    await link('Meant'),
    await link('Renamed'),
  ];
  const postNow = (linkId: string) => store.prisma.$executeRaw`
    INSERT INTO series_minute VALUES (${linkId}::uuid, date_trunc('minute', now()), 'accepted', 1)`;
  await postNow(renamed);
  const post = async (n: number, change: (submission: Submission) => void) => {
    const items = Array.from({ length: n }, (_, i) => {
      const order = Date.now() * 1_000 + i;
      const of = { id: uuidv7(), workspaceId, linkId: renamed, order, stamp: order };
      const submission = sampleSubmission(i, of);
      change(submission);
      return { submission, replay: false };
    });
    await applyGroup(store, items);
    await applyGroup(store, items);
    await addUpTallies(store);
  };
  await post(120, () => null);
  await store.prisma.$executeRaw`
    UPDATE link_shape SET shape = jsonb_set(shape, '{since}', to_jsonb(${Date.now() - 10 * DAY_MS}::float8))`;
  await post(40, ({ lead, notes }) => {
    delete lead.email;
    const fields = ['/e_mail', '/ana@example.com', '/11987654321'];
    notes.push(...fields.map((field) => ({ field, code: 'unknown-key' as const })));
  });
  const missing = randomUUID();
  await store.prisma.ledgerOpen.create({
    data: {
      ...{ id: missing, workspaceId, linkId: meant, state: 'missing' },
      since: new Date(Date.now() - 60_000),
    },
  });
  const endpointId = randomUUID();
  await store.prisma.endpoint.create({
    data: {
      ...{ id: endpointId, workspaceId, name: 'CRM', url: 'https://crm.example/', concurrency: 1 },
      ...{ secret: new Uint8Array(1), events: ['lead.created'], state: 'disabled' },
    },
  });
  await quietLink(store, meant, new Date(Date.now() + 60_000));
  const logger = { info: vi.fn(), warn: vi.fn() };
  const look = () =>
    createAlarmsTask(redis, store, { hold: () => Promise.resolve(true) }, logger).run();
  await look();
  await look();
  const open = await listAlarms(store, { workspaceId }, 10);
  expect(open.map(({ kind, subject, label }) => [kind, subject, label]).toSorted()).toEqual([
    ['deliveries', endpointId, 'CRM'],
    ['drift', renamed, 'Renamed'],
    ['ledger', meant, 'Meant'],
    ['silence', silent, 'Silent'],
  ]);
  expect(logger.warn).toHaveBeenCalledTimes(4);
  expect(open.find(({ kind }) => kind === 'drift')?.facts).toEqual({
    ...{ lacks: 'email', has: '/e_mail, /…' },
  });
  expect(await openAlarms(store)).toMatchObject({ silence: 1, drift: 1, ledger: 1, queue: 0 });

  await postNow(silent);
  await post(40, () => null);
  await store.prisma.ledgerOpen.deleteMany();
  await look();
  expect(await listAlarms(store, {}, 10)).toMatchObject([{ kind: 'deliveries' }]);
  expect(await listAlarms(store, { all: true }, 10)).toHaveLength(4);
  expect(logger.info).toHaveBeenCalledTimes(3);

  // Without Postgres, what Redis alone tells is in the log.
  await store.prisma.linkQuiet.deleteMany();
  const task = createAlarmsTask(redis, store, { hold: () => Promise.resolve(true) }, logger);
  await task.run();
  await database.drop();
  const receiver = countLinks(redis);
  for (let n = 0; n < 25; n++)
    receiver.count({ workspaceId, linkId: renamed }, 'refused:invalid-lead', Date.now());
  await receiver.close();
  logger.warn.mockClear();
  await expect(task.run()).rejects.toThrow();
  await expect(task.run()).rejects.toThrow();
  expect(logger.warn.mock.calls).toEqual([
    [{ alarm: 'refusals', subject: renamed, percent: 100 }, 'alarm opened'],
  ]);
});

test('rows that cannot be counted in time hold up no other alarm', async () => {
  const [database, { url }] = await Promise.all([testDatabase(), testRedis()]);
  closes.add('database', database.drop);
  const store = openStore({ url: database.url, poolSize: 3, statementTimeoutMs: 500 });
  closes.add('store', store.close);
  const redis = connectRedis(url, { role: 'admin' });
  closes.add('redis', () => redis.disconnect());
  await awaitRedis(redis);
  const workspaceId = await makeWorkspace(store);
  await store.prisma.endpoint.create({
    data: {
      ...{
        id: randomUUID(),
        workspaceId,
        name: 'CRM',
        url: 'https://crm.example/',
        concurrency: 1,
      },
      ...{ secret: new Uint8Array(1), events: ['lead.created'], state: 'disabled' },
    },
  });
  const logger = { info: vi.fn(), warn: vi.fn() };
  const task = createAlarmsTask(redis, store, { hold: () => Promise.resolve(true) }, logger);
  const other = openStore({ url: database.url, poolSize: 1 });
  closes.add('other store', other.close);
  await other.prisma.$transaction(async (tx) => {
    await tx.$executeRaw`LOCK TABLE tally_group IN ACCESS EXCLUSIVE MODE`;
    await task.run();
  });
  expect(await openAlarms(store)).toMatchObject({ deliveries: 1 });
  expect(logger.warn.mock.calls.map(([, message]: unknown[]) => message)).toEqual([
    'the rows of the last hour could not be counted: alarms go on without',
    'alarm opened',
  ]);
});
