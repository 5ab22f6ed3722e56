import {
  findToken,
  listAudit,
  openStore,
  signIn,
  type AuditEntry,
  type Store,
} from '@leadgate/store';
import { Keyring } from '@leadgate/boot';
import { testDatabase } from '@leadgate/testkit';
import type { Command } from 'commander';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRecorder, LOOKS, nounOf, RUN } from '../on-record.ts';
import { run, wholeProgram } from '../run.ts';
import { openSession } from '../session.ts';

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

const leadgate = (...argv: string[]) => leadgateWith({ LEADGATE_OPERATOR: 'Otto' }, ...argv);

async function leadgateWith(env: Record<string, string>, ...argv: string[]) {
  const ran = { status: -1, out: '', err: '' };
  ran.status = await run(argv, {
    out: (text) => (ran.out += text),
    err: (text) => (ran.err += text),
    env: { DATABASE_URL: database.url, REDIS_URL: 'redis://127.0.0.1:1', ...env },
    cwd: folder,
  });
  return ran;
}

const ID = '01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52';

async function audit(...options: string[]): Promise<AuditEntry[]> {
  const { out } = await leadgate('audit', ...options, '--json');
  return JSON.parse(out) as AuditEntry[];
}

const enter = (name: string, password: string) =>
  signIn(
    store,
    {
      ...{ name, password, address: '127.0.0.1', device: null, browser: '' },
      ...{ secondFactor: '', origin: 'http://localhost:3001' },
    },
    new Keyring('of nobody here'),
  );

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

test('what the command line does is on record, under the name of who did it, without passwords', async () => {
  await leadgate('token', 'create', 'recorded', '--role', 'viewer');
  await leadgate('token', 'create', 'recorded', '--role', 'viewer');
  const [again, first] = await audit('--action', 'token', '--who', 'Otto');
  expect(first).toMatchObject({
    actor: { kind: 'command-line', name: 'Otto' },
    ...{ action: 'token.create', subject: { name: 'recorded', role: 'viewer' }, outcome: 'done' },
  });
  expect(again).toMatchObject({ outcome: 'refused' });
  const entries = await audit('--since', '1h', '--limit', '200');
  expect(entries.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['operator.add', 'operator.remove', 'token.create', 'token.revoke']),
  );
  expect(JSON.stringify(entries)).not.toContain('long enough');
  expect((await leadgate('audit', '--action', 'token.create')).out).toMatch(
    /Otto +command-line +token\.create +done +name recorded, role viewer/,
  );
});

test('where nobody gives a name, it is that of the user of the system', async () => {
  await leadgateWith({}, 'token', 'revoke', 'recorded');
  const [entry] = await audit('--action', 'token');
  expect(entry?.actor.name).toBe(userInfo().username);
});

test('every command either only looks or is on record, and no entry tells of a person', async () => {
  const program = await wholeProgram({
    io: { out: () => {}, err: () => {}, env: {}, cwd: folder },
    session: openSession({ out: () => {}, err: () => {}, env: {}, cwd: folder }),
  });
  const leaves = (from: Command): Command[] =>
    from.commands.length === 0 ? [from] : from.commands.flatMap(leaves);
  const recorded: string[] = [];
  const ran: string[] = [];
  for (const command of leaves(program)) {
    if (RUN.has(nounOf(command))) {
      ran.push(command.name());
      continue;
    }
    const written: string[] = [];
    const recorder = createRecorder(
      () => {
        written.push(command.name());
        throw new Error('no store here');
      },
      { env: {} },
    );
    await recorder.begin(command);
    if (written.length > 0) recorded.push(command.name());
    expect([command.name(), LOOKS.has(command.name())]).toEqual([
      command.name(),
      written.length === 0,
    ]);
  }
  expect(recorded.length + ran.length).toBeGreaterThan(20);

  await leadgate('rejected', 'mend', ID, '--set', 'email=zenobia@example.com');
  const [entry] = await audit('--action', 'rejected');
  expect(entry).toMatchObject({
    action: 'rejected.mend',
    subject: { rejectedId: ID },
    outcome: 'refused',
  });
  expect(JSON.stringify(entry)).not.toContain('zenobia');
});

test('a dry run and what only looks leave no entry', async () => {
  const [before] = await audit();
  await leadgate('token', 'list');
  await leadgate('replay', '--since', '1h', '--dry-run');
  expect((await audit())[0]).toEqual(before);
});

test('a migration that makes the table of the log is in it', async () => {
  const fresh = await testDatabase();
  const admin = openStore({ url: fresh.url, poolSize: 1 });
  await admin.prisma.$executeRaw`DROP SCHEMA public CASCADE`;
  await admin.prisma.$executeRaw`CREATE SCHEMA public`;
  expect(await leadgateWith({ DATABASE_URL: fresh.url }, 'migrate')).toMatchObject({
    ...{ status: 0, err: '' },
  });
  expect(await listAudit(admin, { limit: 5 })).toMatchObject([
    { action: 'migrate', outcome: 'done' },
  ]);
  await admin.close();
  await fresh.drop();
});
