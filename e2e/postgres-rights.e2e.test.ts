import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { migrate } from '@leadgate/store';
import { forTest, startPostgresServer } from '@leadgate/testkit';
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { post } from './leads.ts';
import { startSystem } from './system.ts';

const root = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** A Postgres with the roles of deploy/postgres, migrated by the owner of the tables. */
async function withRoles(): Promise<{ owner: string; application: string }> {
  const server = await forTest(startPostgresServer());
  const superuser = await connect(server.url);
  await superuser.query(await readFile(root('deploy/postgres/roles.sql'), 'utf8'));
  await superuser.query(
    "ALTER ROLE leadgate_owner PASSWORD 'o'; ALTER ROLE leadgate_app PASSWORD 'a'",
  );
  const urlOf = (user: string, password: string) =>
    Object.assign(new URL(server.url), { username: user, password }).href;
  const owner = urlOf('leadgate_owner', 'o');
  await migrate(owner, { directory: root('prisma/migrations') });
  return { owner, application: urlOf('leadgate_app', 'a') };
}

test('a role that owns nothing is enough for the whole system, and may do no more', async () => {
  const { owner, application } = await withRoles();
  const erasures = { ERASURE_KEY: 'a key of the tests, long enough to hash' };
  const system = await forTest(
    startSystem({
      ...{
        postgres: { url: application, isMigrated: true },
        workerEnv: erasures,
        cliEnv: erasures,
      },
    }),
  );
  await system.cli('workspace', 'create', 'Agency');
  const link = await system.cli<{ codes: { code: string }[] }>('link', 'create', 'Agency');
  const { code = '' } = link.codes[0] ?? {};
  const statusOfPost = async () =>
    (await post(system.receivers[0], code, { email: 'ana@example.com' })).status;
  await vi.waitFor(async () => expect(await statusOfPost()).toBe(202));
  await system.settle();
  expect(await system.query('SELECT email FROM lead')).toEqual([{ email: 'ana@example.com' }]);
  expect(await system.cli('lead', 'changes', 'Agency')).toMatchObject({
    changes: [{ kind: 'lead', version: 1, data: { email: 'ana@example.com' } }],
    restarted: false,
  });
  const [{ partition } = { partition: '' }] = await system.query<{ partition: string }>(
    'SELECT DISTINCT tableoid::regclass::text AS partition FROM submission',
  );
  expect(partition).toMatch(/^submission_\d{4}_\d{2}$/);
  const whom = ['--email', 'ana@example.com', '--workspace', 'Agency'];
  await system.cli('lead', 'erase', ...whom, '--reason', 'a test');
  expect(await system.query('SELECT email FROM lead')).toEqual([{ email: null }]);
  await system.cli('doctor');
  await system.query("SELECT drop_partition('submission', $1)", [partition]);

  for (const refused of [
    'DROP TABLE lead',
    'TRUNCATE lead',
    'ALTER TABLE lead ADD COLUMN x int',
    'CREATE TABLE x ()',
    'CREATE ROLE x',
    'SELECT rolpassword FROM pg_authid',
    'DELETE FROM audit_entry',
    "UPDATE audit_entry SET action = 'x'",
    'UPDATE audit_entry SET outcome = NULL',
    'DROP TRIGGER keep_audit_entry ON audit_entry',
    'DELETE FROM person_read',
    "UPDATE person_read SET action = 'x'",
    'SELECT keep_reads(1)',
    'DELETE FROM _prisma_migrations',
    "SELECT make_partition('lead', 'lead_2026_01', NULL, gen_random_uuid())",
    "SELECT drop_partition('submission', 'lead')",
    "SELECT drop_partition('submission', 'submission_default')",
  ])
    await expect(system.query(refused), refused).rejects.toThrow();
  // Not even the owner changes an entry by a statement on the table.
  const tables = await connect(owner);
  for (const refused of ['DELETE FROM audit_entry', 'TRUNCATE audit_entry'])
    await expect(tables.query(refused), refused).rejects.toThrow('only added to');

  await system.cli('workspace', 'remove', 'Agency', '--confirm', 'Agency');
  expect(await system.cli('workspace', 'list')).toEqual([]);
  await vi.waitFor(async () => expect(await statusOfPost()).toBe(404));
}, 120_000);
