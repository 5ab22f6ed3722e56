import { Keyring } from '@leadgate/boot';
import { addUpTallies, listDuplicates, listEndpoints, readSeries } from '@leadgate/store';
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { Refusal } from '../operation.ts';
import { ADMINISTRATOR, connectionsOf, operationsUnderTest } from '../../test/operations.ts';
import { runOperation } from '../run.ts';
import { workspace } from '../workspace.ts';
import { fillDemo, openDemo } from './demo.ts';

const operations = await operationsUnderTest();
const { store } = operations;
const connections = connectionsOf(operations, {
  keyring: () => Promise.resolve(new Keyring('a key of thirty-two characters or more')),
  deliveries: () => Promise.resolve({ allowNetworks: ['127.0.0.0/8'] }),
});

const URL_OF_CRM = 'http://127.0.0.1:4000/leads';

async function open(onlyIfFresh: boolean) {
  const opened = await openDemo(connections, ADMINISTRATOR, { onlyIfFresh });
  if (opened instanceof Refusal) throw new Error(opened.detail);
  return opened;
}

const counts = async () => ({
  submissions: await store.prisma.submission.count(),
  leads: await store.prisma.lead.count(),
  refused: await store.prisma.rejectedSubmission.count(),
  links: await store.prisma.captureLink.count(),
  endpoints: await store.prisma.endpoint.count(),
});

test('a demo looks two weeks old; filled once more it is the same; removed, it is not made again by itself', async () => {
  const opened = await open(true);
  if (opened.kind !== 'open') throw new Error(opened.kind);
  const { workspace: demo } = opened;
  expect(demo).toMatchObject({ name: 'Demo', demo: 'begun' });
  expect(await fillDemo(connections, ADMINISTRATOR, demo, URL_OF_CRM)).toMatchObject({
    endpoints: 2,
  });
  const filled = await counts();
  expect(filled).toMatchObject({ links: 4, endpoints: 2 });
  expect(filled.submissions).toBeGreaterThan(1_200);
  expect(filled.refused).toBeGreaterThan(20);

  // As one that was cut off at its end.
  await fillDemo(connections, ADMINISTRATOR, demo, URL_OF_CRM);
  expect(await counts()).toEqual(filled);
  const again = await open(true);
  expect(again).toMatchObject({ workspace: { id: demo.id, demo: 'full' } });

  while ((await addUpTallies(store)) > 0);
  const from = new Date(Date.now() - 15 * 86_400_000);
  const days = await readSeries(store, {
    ...{ subject: demo.id, grain: 'day' as const, from: from.toISOString().slice(0, 10) },
    to: new Date(Date.now() + 86_400_000).toISOString().slice(0, 10),
  });
  expect(days.length).toBeGreaterThan(13);
  const sum = (of: (day: (typeof days)[number]) => number) =>
    days.reduce((all, day) => all + of(day), 0);
  expect(sum((day) => day.created + day.updated)).toBe(filled.submissions);
  expect(sum((day) => day.accepted - day.held)).toBe(filled.submissions);
  expect(await store.prisma.lead.count({ where: { createdAt: { gt: demo.createdAt } } })).toBe(0);
  expect((await listDuplicates(store, { workspaceId: demo.id }, 50)).length).toBeGreaterThan(1);
  expect((await listEndpoints(store, demo.id)).filter((one) => one.failingSince)).toHaveLength(1);

  // Redis knows them: who posts again is who they were.
  const known = await store.prisma.identity.findFirstOrThrow({
    where: { workspaceId: demo.id, key: { startsWith: 'email:' } },
  });
  const reserved = await operations.reserver.reserve({
    ...{ submissionId: randomUUID(), workspaceId: demo.id, linkId: randomUUID(), limits: [] },
    ...{ offeredLeadId: randomUUID(), identityKeys: [known.key] },
  });
  expect(reserved).toMatchObject({ kind: 'reserved', leadId: known.leadId });

  const removal = { workspaceId: demo.id, confirm: 'Demo' };
  await runOperation(workspace.remove, removal, connections, ADMINISTRATOR);
  expect(await counts()).toEqual({ submissions: 0, leads: 0, refused: 0, links: 0, endpoints: 0 });
  expect(await open(true)).toEqual({ kind: 'not-fresh' });
  expect(await open(false)).toMatchObject({ workspace: { demo: 'begun' } });
}, 60_000);

test('a workspace that is called so and is none is left alone', async () => {
  await store.prisma.workspace.updateMany({ where: { name: 'Demo' }, data: { demo: null } });
  expect(await openDemo(connections, ADMINISTRATOR, { onlyIfFresh: false })).toMatchObject({
    code: 'conflict',
  });
});
