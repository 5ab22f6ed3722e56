import { randomUUID } from 'node:crypto';
import { accept, pushRejected } from '@leadgate/intake';
import { applyGroup, REMOVED_FROM, saveHeld, saveRejected } from '@leadgate/store';
import { sampleSubmission } from '@leadgate/testkit';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { ADMINISTRATOR, connectionsOf, operationsUnderTest } from '../test/operations.ts';
import { runOperation } from './run.ts';
import { workspace } from './workspace.ts';

/** Tables where a removal leaves what there is, and why. */
const LEFT: Readonly<Record<string, string>> = {
  removed_workspace: 'the id, by which what comes late is dropped',
  audit_entry: 'the audit log is only added to',
  person_read: 'who read what is only added to, and goes by month',
  imported_row: 'digests, which name nothing',
  directory_change: 'codes that lead nowhere; the last thousand changes are kept',
  directory_revision: 'of the installation',
  retention: 'of the installation',
  ledger_cursor: 'of the installation',
  consent_fill: 'of the installation',
  operator: 'people, who may have a role elsewhere',
  operator_session: 'of operators',
  security_key: 'of operators',
  key_challenge: 'of operators',
  sign_in_attempt: 'of operators',
  first_code: 'of the installation',
  _prisma_migrations: 'of the installation',
};

const operations = await operationsUnderTest();
const connections = connectionsOf(operations);
const client = new pg.Client({ connectionString: operations.databaseUrl });
await client.connect();
afterAll(() => client.end());

const remove = (input: { workspaceId: string; confirm?: string; dryRun?: boolean }) =>
  runOperation(workspace.remove, input, connections, ADMINISTRATOR);

interface Made {
  workspaceId: string;
  linkId: string;
  endpointId: string;
  campaignId: string;
}

const post = async ({ workspaceId, linkId }: Made) => {
  const { id, stamp, leadId, ...sent } = sampleSubmission(people++, { workspaceId, linkId });
  const submission = { ...sent, id: `${uuidAt()}${id.slice(-12)}`, lead: sent.lead };
  return accept(operations, {
    submission,
    offeredLeadId: randomUUID(),
    identityKeys: [`email:${submission.lead.email ?? ''}`],
    idempotency: { key: randomUUID(), bodyHash: 'aa'.repeat(32) },
    limits: [{ key: `link:${linkId}`, max: 100 }],
    stamp,
  });
};
let people = 1;
const uuidAt = () => {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-`;
};

/** A workspace with something in every table. */
async function full(): Promise<Made> {
  const { workspaceId, linkId } = await operations.open();
  const made = { workspaceId, linkId, endpointId: randomUUID(), campaignId: randomUUID() };
  await post(made);
  await operations.work();
  const { id, ...kept } = sampleSubmission(people++, { workspaceId, linkId });
  await saveHeld(operations.store, [
    { ...kept, id: randomUUID(), held: { reason: 'honeypot', keys: [] } },
  ]);
  const refused = {
    ...{ workspaceId, linkId, stamp: kept.stamp, code: 'invalid-lead' },
    ...{ errors: [], body: '{}', bodyType: 'json' as const },
  };
  await saveRejected(operations.store, [{ ...refused, id }]);
  await pushRejected(operations.redis, { ...refused, id: randomUUID() });
  const w = `'${workspaceId}'`;
  const l = `'${linkId}'`;
  const e = `'${made.endpointId}'`;
  const c = `'${made.campaignId}'`;
  const one = 'gen_random_uuid()';
  const operatorId = randomUUID();
  for (const rows of [
    `custom_field (id, workspace_id, name, label, type) VALUES (${one}, ${w}, 'a', 'A', 'text')`,
    `endpoint (id, workspace_id, name, url, secret, events, concurrency)
     VALUES (${e}, ${w}, 'crm', 'https://crm.example', '', '{lead.created}', 1)`,
    `delivery (endpoint_id, lead_id, workspace_id, event, version)
     VALUES (${e}, ${one}, ${w}, 'lead.created', 1)`,
    `delivery_attempt (endpoint_id, event, message_id, outcome, duration_ms)
     VALUES (${e}, 'lead.created', 'm', 'delivered', 1)`,
    `lead_change (workspace_id, xid, lead_ids) VALUES (${w}, 1, ARRAY[${one}])`,
    `consent (submission_id, workspace_id, lead_id, link_id, action, stamp)
     VALUES (${one}, ${w}, ${one}, ${l}, 'granted', 1)`,
    `discarded_submission (job_id, reason, failure, workspace_id, link_id, content)
     VALUES (${one}, 'r', 'f', ${w}, ${l}, '{}')`,
    `possible_duplicate (workspace_id, lead_a, lead_b)
     VALUES (${w}, '00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002')`,
    `tombstone (workspace_id, identity_hash, lead_id, erased_order) VALUES (${w}, '', ${one}, 1)`,
    `erasure (workspace_id, lead_id, erased_order, reason, erased_by, key_check)
     VALUES (${w}, ${one}, 1, 'r', 'ana', 'k')`,
    `order_kept (workspace_id, highest) VALUES (${w}, 1)`,
    ...['minute', 'hour', 'day'].flatMap((grain) =>
      [w, l, c].map((of) => `series_${grain} VALUES (${of}, now(), 'accepted', 1)`),
    ),
    `series_rank VALUES (${w}, 'link', 'day', now(), ${l}, 'accepted', 1)`,
    `series_ranking VALUES (${w}, 'link', 'month', now(), ${l}, 1, 0, 0)`,
    `campaign VALUES (${c}, ${w}, 'campaign', '{google,cpc,spring}')`,
    `ledger_open (id, workspace_id, link_id, state) VALUES (${one}, ${w}, ${l}, 'failed')`,
    `alarm (kind, subject, workspace_id) VALUES ('silence', ${l}, ${w})`,
    `link_shape VALUES (${l}, '{}', false)`,
    `link_quiet VALUES (${l}, now())`,
    `retention_policy (workspace_id, kind, days) VALUES (${w}, 'leads', 30)`,
    `run (id, workspace_id, kind, parameters, runner, begun_by_kind, begun_by)
     VALUES (${one}, ${w}, 'import', '{}', ${one}, 'command-line', 'ana')`,
    `api_token (id, name, role, workspace_id, token_hash)
     VALUES (${one}, ${w}, 'viewer', ${w}, decode(md5(${w}), 'hex'))`,
    `operator (id, name, password_hash) VALUES ('${operatorId}', '${operatorId}', '')`,
    `operator_workspace VALUES ('${operatorId}', ${w}, 'viewer')`,
    `person_read (actor_kind, actor_name, action, workspace_id)
     VALUES ('operator', 'ana', 'lead.list', ${w})`,
  ])
    await client.query(`INSERT INTO ${rows}`);
  return made;
}

async function tables(): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
     ORDER BY relname`,
  );
  return rows.map(({ name }) => name);
}

/** The rows of each table that say one of the ids anywhere. */
async function rowsOf(made: Made): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const table of await tables()) {
    const { rows } = await client.query<{ text: string }>(
      `SELECT row::text AS text FROM ${table} AS row WHERE row::text ~ $1 ORDER BY 1`,
      [Object.values(made).join('|')],
    );
    if (rows.length > 0) found[table] = rows.map(({ text }) => text);
  }
  return found;
}

async function keysOf(made: Made): Promise<string[]> {
  const all = await operations.redis.keys('*');
  const hashes = await operations.redis.hkeys('leadgate:{rejected}:bytes');
  const ids = Object.values<string>({ ...made });
  return [...all, ...hashes].filter((key) => ids.some((id) => key.includes(id))).toSorted();
}

test('a removed workspace leaves no row in any table and no key in Redis, and others as they were', async () => {
  const gone = await full();
  const stays = await full();
  const before = { rows: await rowsOf(stays), keys: await keysOf(stays) };
  const kinds = new Set([...REMOVED_FROM, ...Object.keys(LEFT)]);
  expect((await tables()).filter((table) => !kinds.has(table))).toEqual([]);
  const held = Object.keys(await rowsOf(gone));
  expect(REMOVED_FROM.filter((table) => !held.includes(table))).toEqual([]);
  expect((await keysOf(gone)).length).toBeGreaterThan(5);

  const dry = await remove({ workspaceId: gone.workspaceId, dryRun: true });
  const counts = { links: 1, fields: 1, endpoints: 1, leads: 1, submissions: 1, rejected: 1 };
  expect(dry).toMatchObject({ counts: { ...counts, held: 1, deliveries: 1 } });
  expect(await remove({ workspaceId: gone.workspaceId, confirm: 'x' })).toMatchObject({
    code: 'invalid',
  });
  expect(Object.keys(await rowsOf(gone))).toEqual(expect.arrayContaining(held));
  const name = 'name' in dry ? dry.name : '';
  expect(await remove({ workspaceId: gone.workspaceId, confirm: name })).toEqual(dry);

  expect(Object.keys(await rowsOf(gone))).toEqual([
    'audit_entry',
    'person_read',
    'removed_workspace',
  ]);
  expect(await keysOf(gone)).toEqual([]);
  expect({ rows: await rowsOf(stays), keys: await keysOf(stays) }).toEqual(before);
  expect(await remove({ workspaceId: gone.workspaceId, confirm: name })).toMatchObject({
    code: 'not-found',
  });
});

test('what comes late of a removed workspace is dropped: a job, a replay of it, held and refused posts', async () => {
  const gone = await full();
  const stays = await full();
  await post(gone);
  await post(stays);
  const late = [...operations.queue];
  expect(late).toHaveLength(2);
  const shown = await remove({ workspaceId: gone.workspaceId, dryRun: true });
  const confirm = 'name' in shown ? shown.name : '';
  await remove({ workspaceId: gone.workspaceId, confirm });
  const left = await rowsOf(gone);
  await operations.work();

  const { store } = operations;
  const again = late.map((submission) => ({ submission, replay: true }));
  expect((await applyGroup(store, again)).applied.map(({ outcome }) => outcome).toSorted()).toEqual(
    ['removed', 'updated'],
  );
  const [one] = late.filter(({ workspaceId }) => workspaceId === gone.workspaceId);
  if (one === undefined) throw new Error('nothing was late');
  await saveHeld(store, [{ ...one, id: randomUUID(), held: { reason: 'honeypot', keys: [] } }]);
  await saveRejected(store, [
    { ...one, id: randomUUID(), code: 'invalid-lead', errors: [], bodyType: 'json' },
  ]);
  expect(await rowsOf(gone)).toEqual(left);
  const leads = await store.prisma.lead.count({ where: { workspaceId: stays.workspaceId } });
  expect(leads).toBe(2);
});

test('a removal that was cut off goes on: nothing comes in meanwhile, and the same again ends it', async () => {
  const gone = await full();
  const shown = await remove({ workspaceId: gone.workspaceId, dryRun: true });
  const confirm = 'name' in shown ? shown.name : '';
  await client.query(`CREATE OR REPLACE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE 'cut off'; END $$`);
  await client.query('CREATE TRIGGER stop BEFORE DELETE ON series_day EXECUTE FUNCTION stop()');
  await expect(remove({ workspaceId: gone.workspaceId, confirm })).rejects.toThrow();
  await client.query('DROP TRIGGER stop ON series_day');
  await post(gone);
  await operations.work();
  expect(await remove({ workspaceId: gone.workspaceId, confirm })).toMatchObject({
    counts: { leads: 0, submissions: 0 },
  });
  expect(Object.keys(await rowsOf(gone))).toEqual([
    'audit_entry',
    'person_read',
    'removed_workspace',
  ]);
  expect(await keysOf(gone)).toEqual([]);
});
