import { LINK_DEFAULTS } from '@leadgate/contract';
import { connectRedis } from '@leadgate/boot';
import { openWorkspace } from '@leadgate/intake';
import { createLink, createWorkspace, openStore, saveHeld, type Store } from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from './run.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let redisServer: Awaited<ReturnType<typeof testRedis>>;
let store: Store;
let where: { workspaceId: string; linkId: string };

beforeAll(async () => {
  database = await testDatabase();
  redisServer = await testRedis();
  store = openStore({ url: database.url, poolSize: 2 });
  const made = await createWorkspace(store, { name: 'Acme', country: 'BR', dummyPhones: [] });
  if (made.kind !== 'created') throw new Error(made.kind);
  const workspaceId = made.workspace.id;
  const redis = connectRedis(redisServer.url, { role: 'admin' });
  await openWorkspace(redis, workspaceId);
  redis.disconnect();
  const link = await createLink(store, workspaceId, {
    ...LINK_DEFAULTS,
    label: 'Spring',
    expiresAt: null,
  });
  if (link.kind !== 'created') throw new Error(link.kind);
  where = { workspaceId, linkId: link.link.id };
});
afterAll(async () => {
  await store.close();
  await redisServer.flush();
  await database.drop();
});

async function leadgate(...argv: string[]) {
  const ran = { status: -1, out: '', err: '' };
  ran.status = await run(argv, {
    out: (text) => (ran.out += text),
    err: (text) => (ran.err += text),
    env: { DATABASE_URL: database.url, REDIS_URL: redisServer.url },
    cwd: tmpdir(),
  });
  return ran;
}

test('what is held is listed, shown, discarded, and released once', async () => {
  const held = {
    ...sampleSubmission(1),
    ...where,
    identities: [],
    lead: { email: 'ana@example.com', name: 'Ana' },
    held: { reason: 'too-quick' as const, keys: ['email:ana@example.com'] },
  };
  await saveHeld(store, [held]);

  const listed = await leadgate('held', 'list', '--workspace', 'Acme');
  expect(listed.out).toMatch(new RegExp(`${held.id} +Ana +too-quick +Spring`));
  const shown = await leadgate('held', 'show', held.id);
  expect(shown.out).toContain('faster than the link allows');
  expect(shown.out).toContain('ana@example.com');

  expect(await leadgate('held', 'discard', held.id)).toMatchObject({ status: 0 });
  expect((await leadgate('held', 'list')).out).toBe('No held submission found.\n');
  expect((await leadgate('held', 'restore', held.id)).out).toBe('Held again.\n');
  expect((await leadgate('held', 'list')).out).toContain(held.id);
  const release = await leadgate('held', 'release', held.id, '--json');
  expect(JSON.parse(release.out)).toEqual({
    kind: 'released',
    submissionId: held.id,
    leadId: held.leadId,
    answeredLeadId: held.leadId,
  });
  expect((await leadgate('held', 'release', held.id)).out).toContain('released before');
  expect(await leadgate('held', 'discard', held.id)).toMatchObject({ status: 1 });
  expect(await leadgate('held', 'release', randomUUID())).toMatchObject({ status: 1 });
});
