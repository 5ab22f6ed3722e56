import { findToken, listAudit, openStore, signIn, type Store } from '@leadgate/store';
import { testDatabase } from '@leadgate/testkit';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../run.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
let folder: string;

beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 2 });
  folder = mkdtempSync(join(tmpdir(), 'leadgate-operators-'));
});

afterAll(async () => {
  rmSync(folder, { recursive: true });
  await store.close();
  await database.drop();
});

async function leadgate(...argv: string[]) {
  const ran = { status: -1, out: '', err: '' };
  ran.status = await run(argv, {
    out: (text) => (ran.out += text),
    err: (text) => (ran.err += text),
    env: { DATABASE_URL: database.url },
    cwd: folder,
  });
  return ran;
}

const enter = (name: string, password: string) =>
  signIn(store, { name, password, address: '127.0.0.1' });

test('an operator is added with a password that is printed once, and signs in with it', async () => {
  const added = await leadgate('operator', 'add', 'Ana', '--role', 'operator', '--json');
  const { password } = JSON.parse(added.out) as { password: string };
  expect(await enter('Ana', password)).toMatchObject({ kind: 'signed-in' });
  const list = await leadgate('operator', 'list');
  expect(list.out).toContain('Ana');
  expect(list.out).not.toContain(password);
  expect(await leadgate('operator', 'add', 'Ana', '--role', 'viewer')).toMatchObject({ status: 1 });
});

test('a password comes from a file, and one that is too short is refused', async () => {
  const file = join(folder, 'password');
  writeFileSync(file, 'a long enough password\n');
  const given = ['--role', 'viewer', '--password-file', file];
  expect(await leadgate('operator', 'add', 'Bia', ...given)).toMatchObject({ status: 0 });
  expect(await enter('Bia', 'a long enough password')).toMatchObject({ kind: 'signed-in' });
  writeFileSync(file, 'short');
  const refused = await leadgate('operator', 'password', 'Bia', '--password-file', file);
  expect(refused).toMatchObject({ status: 2 });
  expect(refused.err).toContain('10 to 200 characters');
  const missing = await leadgate('operator', 'password', 'Bia', '--password-file', 'nowhere');
  expect(missing).toMatchObject({ status: 2 });
});

test('a removed operator is gone, and an unknown one is a failure', async () => {
  expect(await leadgate('operator', 'remove', 'Bia')).toMatchObject({ status: 0 });
  expect(await enter('Bia', 'a long enough password')).toEqual({ kind: 'refused' });
  expect(await leadgate('operator', 'remove', 'Bia')).toMatchObject({ status: 1 });
});

test('a token is printed once, works, and is revoked by its name', async () => {
  const created = await leadgate('token', 'create', 'prometheus', '--role', 'viewer', '--json');
  const { secret } = JSON.parse(created.out) as { secret: string };
  expect(await findToken(store, secret)).toMatchObject({ name: 'prometheus', role: 'viewer' });
  expect((await leadgate('token', 'list', '--json')).out).not.toContain(secret);
  expect(await leadgate('token', 'revoke', 'prometheus')).toMatchObject({ status: 0 });
  expect(await findToken(store, secret)).toBeNull();
  expect(await leadgate('token', 'revoke', 'prometheus')).toMatchObject({ status: 1 });
});

test('what the command line does is on record, without passwords', async () => {
  const entries = await listAudit(store, { limit: 100 });
  expect(entries.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['operator.add', 'operator.remove', 'token.create', 'token.revoke']),
  );
  expect(entries.every(({ actor }) => actor.kind === 'command-line')).toBe(true);
  expect(JSON.stringify(entries)).not.toContain('long enough');
});
