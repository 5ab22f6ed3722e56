import type { Lead } from '@leadgate/contract';
import { bareSubmission, testDatabase } from '@leadgate/testkit';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { applyGroup } from './apply/apply-group.ts';
import { mergeLeads } from './apply/merges.ts';
import { type ChangesPage, CursorError, leadChanges, sweepChanges } from './changes.ts';
import { erasePerson } from './erase.ts';
import { openStore, type Store } from './open-store.ts';
import { erasureKeyOf } from './tombstones.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
let other: pg.Client;
let workspaceId: string;
beforeAll(async () => {
  database = await testDatabase();
  const erasureKey = erasureKeyOf('a key of thirty-two characters or more');
  store = openStore({ url: database.url, poolSize: 12, erasureKey });
  other = new pg.Client({ connectionString: database.url });
  await other.connect();
});
afterAll(async () => {
  await store.close();
  await other.end();
  await database.drop();
});
beforeEach(async () => {
  workspaceId = randomUUID();
  await store.prisma.workspace.create({ data: { id: workspaceId, name: workspaceId } });
});

async function post(leadId: string, lead: Lead): Promise<void> {
  await applyGroup(store, [
    { submission: bareSubmission({ workspaceId, leadId, lead }), replay: false },
  ]);
}

/**
 * A change is told once no transaction of before it runs any more, in whatever database of the server: other
 * tests have theirs.
 */
async function horizonPassed(): Promise<void> {
  const { rows } = await other.query<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid');
  await vi.waitFor(
    async () => {
      const now = await other.query(
        'SELECT FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())) AS now (xmin) WHERE xmin > $1::xid8',
        [rows[0]?.xid],
      );
      expect(now.rowCount).toBe(1);
    },
    { timeout: 20_000 },
  );
}

/** Reads on until nothing more is there for now. */
async function readOn(after: string | null, limit = 2): Promise<ChangesPage> {
  const page = await leadChanges(store, workspaceId, { after, limit });
  if (!page.more) return page;
  const rest = await readOn(page.cursor, limit);
  const changes = [...page.changes, ...rest.changes];
  return { ...rest, changes, restarted: page.restarted };
}

const told = ({ changes }: ChangesPage) =>
  changes.map((one) => [one.leadId, one.version, one.kind === 'lead' ? one.data.name : one.kind]);

test('a reader without a cursor gets all leads, and with it what changed since, each as it stands', async () => {
  const leads = Array.from({ length: 5 }, () => randomUUID()).toSorted();
  for (const [n, id] of leads.entries()) await post(id, { name: `n${n}` });
  await horizonPassed();
  const all = await readOn(null);
  expect(told(all)).toEqual(leads.map((id, n) => [id, 1, `n${n}`]));
  expect(told(await readOn(all.cursor))).toEqual([]);

  const [a = '', b = '', c = ''] = leads;
  await post(c, { name: 'once' });
  await post(a, { name: 'a' });
  await post(c, { name: 'twice' });
  // Facts that are known are no change.
  await post(b, { name: 'n1' });
  await horizonPassed();
  expect(told(await readOn(all.cursor, 10))).toEqual([
    [c, 3, 'twice'],
    [a, 2, 'a'],
  ]);
});

test('a lead that changes while all are read is read again afterwards', async () => {
  const leads = Array.from({ length: 4 }, () => randomUUID()).toSorted();
  for (const id of leads) await post(id, { name: 'old' });
  await horizonPassed();
  const first = await leadChanges(store, workspaceId, { after: null, limit: 2 });
  const [a = ''] = leads;
  await post(a, { name: 'new' });
  await horizonPassed();
  const rest = await readOn(first.cursor);
  expect(told(rest)).toEqual([
    [leads[2], 1, 'old'],
    [leads[3], 1, 'old'],
    [a, 2, 'new'],
  ]);
});

test('a lead that was merged or erased comes as such, without what was known of it', async () => {
  const [keep, gone, erased] = [randomUUID(), randomUUID(), randomUUID()];
  for (const id of [keep, gone, erased])
    await post(id, { name: 'Ana', email: `${id}@example.com` });
  await horizonPassed();
  const { cursor } = await readOn(null);
  await mergeLeads(store, workspaceId, keep, gone);
  const request = {
    ...{ workspaceId, leadIds: [erased], offeredLeadId: erased, identities: [], order: 1 },
    ...{ reason: 'a test', erasedBy: 'tests', erasedAt: new Date() },
  };
  const record = () => Promise.resolve();
  await erasePerson(store, request, { dryRun: false, record });
  await horizonPassed();
  const { changes } = await readOn(cursor, 10);
  const byKind = changes.toSorted((a, b) => a.kind.localeCompare(b.kind));
  expect(byKind).toMatchObject([
    { kind: 'erased', leadId: erased, version: 2 },
    { kind: 'lead', leadId: keep, data: { mergedLeads: [{ leadId: gone, version: 2 }] } },
    { kind: 'merged', leadId: gone, version: 2, mergedInto: keep },
  ]);
  // Who begins anew is told of all three too.
  expect((await readOn(null)).changes.map(({ kind }) => kind).toSorted()).toEqual([
    ...['erased', 'lead', 'merged'],
  ]);
});

test('what began first and is committed last is not missed, as it is by who follows a sequence', async () => {
  await other.query(`
    ALTER TABLE lead_change ADD COLUMN IF NOT EXISTS n bigserial;
    CREATE OR REPLACE FUNCTION hold_back() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_advisory_xact_lock_shared(hashtext(new.lead_ids[1]::text));
      RETURN new;
    END $$;
    CREATE TRIGGER hold_back AFTER INSERT ON lead_change FOR EACH ROW EXECUTE FUNCTION hold_back()`);
  const hold = (id: string) => other.query('SELECT pg_advisory_lock(hashtext($1))', [id]);
  const letGo = (id: string) => other.query('SELECT pg_advisory_unlock(hashtext($1))', [id]);
  const waiting = async () =>
    (
      await other.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
    ).rowCount;

  const leads = Array.from({ length: 12 }, () => randomUUID());
  const bySequence = new Set<string>();
  let last = 0;
  const followSequence = async () => {
    const { rows } = await other.query<{ n: string; ids: string[] }>(
      'SELECT n, lead_ids AS ids FROM lead_change WHERE workspace_id = $1 AND n > $2 ORDER BY n',
      [workspaceId, last],
    );
    for (const { n, ids } of rows) {
      last = Math.max(last, Number(n));
      for (const id of ids) bySequence.add(id);
    }
  };
  const read: string[] = [];
  let { cursor } = await readOn(null);
  const follow = async () => {
    const page = await readOn(cursor);
    ({ cursor } = page);
    read.push(...page.changes.map(({ leadId }) => leadId));
    await followSequence();
  };

  const slow = leads.filter((_, n) => n % 3 === 0);
  const commits: Promise<void>[] = [];
  for (const id of leads) {
    const isSlow = slow.includes(id);
    if (isSlow) await hold(id);
    const commit = post(id, { name: 'a' });
    if (isSlow) {
      commits.push(commit);
      await vi.waitFor(async () => expect(await waiting()).toBe(commits.length));
    } else {
      await commit;
      await follow();
    }
  }
  // None is given that one may come before.
  expect(read).toEqual([]);
  for (const id of slow.toReversed()) {
    await letGo(id);
    await commits.pop();
    await follow();
  }
  // Transactions in other databases of the server hold the horizon back too, while they run.
  await vi.waitFor(
    async () => {
      await follow();
      expect(read).toEqual(leads);
    },
    { timeout: 10_000 },
  );
  expect(bySequence).toEqual(new Set(leads.filter((id) => !slow.includes(id))));
  await other.query('DROP TRIGGER hold_back ON lead_change; ALTER TABLE lead_change DROP COLUMN n');
});

test('a cursor of another history of the database, or one that is too old, begins anew and says so', async () => {
  const id = randomUUID();
  await post(id, { name: 'a' });
  await horizonPassed();
  const { cursor } = await readOn(null);
  const with_ = (change: (parts: string[]) => string[]) => {
    const parts = Buffer.from(cursor, 'base64url').toString().split(' ');
    return Buffer.from(change(parts).join(' ')).toString('base64url');
  };
  const elsewhere = with_(([of = '', , ...rest]) => [of, '7000000000000000000.00000001', ...rest]);
  const old = with_(([of = '', history = '', , ...rest]) => [of, history, '1000', ...rest]);
  for (const after of [elsewhere, old]) {
    const page = await readOn(after);
    expect(page.restarted).toBe(true);
    expect(told(page)).toEqual([[id, 1, 'a']]);
  }
  expect((await readOn(cursor)).restarted).toBe(false);
  const strange = [
    ...['', 'x', with_((parts) => parts.slice(1))],
    with_(([, ...rest]) => [randomUUID(), ...rest]),
  ];
  for (const after of strange)
    await expect(leadChanges(store, workspaceId, { after, limit: 1 })).rejects.toThrow(CursorError);

  await sweepChanges(store);
  expect(await store.prisma.leadChange.count({ where: { workspaceId } })).toBe(1);
  await store.prisma.leadChange.updateMany({ data: { at: new Date(0) } });
  expect(await sweepChanges(store)).toBeGreaterThan(0);
  expect(await store.prisma.leadChange.count()).toBe(0);
});

test('a reader that is behind by more than is kept begins anew, however often it asks', async () => {
  const [a, b] = [randomUUID(), randomUUID()];
  const { cursor } = await readOn(null);
  await post(a, { name: 'a' });
  await post(b, { name: 'b' });
  await horizonPassed();
  await other.query(`UPDATE lead_change SET at = now() - interval '15 days 1 hour'`);
  const page = await leadChanges(store, workspaceId, { after: cursor, limit: 1 });
  expect(told(page)).toEqual([[a, 1, 'a']]);
  await sweepChanges(store);
  const next = await readOn(page.cursor);
  expect(next).toMatchObject({ restarted: true });
  expect(told(next).map(([id]) => id)).toContain(b);
});
