import { bareSubmission, testDatabase } from '@leadgate/testkit';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { randomUUID } from 'node:crypto';
import { applyGroup } from './apply/apply-group.ts';
import { openStore, type Store } from './open-store.ts';
import {
  allowRetention,
  dropAcceptedBefore,
  firstIdAt,
  listPartitions,
  makePartitions,
  retentionStandings,
} from './retention.ts';
import { keepReads, listReads, recordRead } from './audit.ts';
import { submissionsThere } from './submissions.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
let other: pg.Client;
const workspaceId = randomUUID();

beforeEach(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 8 });
  other = new pg.Client({ connectionString: database.url });
  await other.connect();
});

afterEach(async () => {
  await other.end();
  await store.close();
  await database.drop();
});

/** A submission whose id says that it was received at this moment. */
function submissionOf(at: string, leadId: string = randomUUID()) {
  const id = firstIdAt(new Date(at)).slice(0, 14) + `7${randomUUID().slice(15)}`;
  const order = Date.parse(at) * 1_000;
  return bareSubmission({ workspaceId, id, leadId, order, stamp: order, lead: { name: at } });
}

const apply = (...submissions: ReturnType<typeof submissionOf>[]) =>
  applyGroup(
    store,
    submissions.map((submission) => ({ submission, replay: false })),
  );

/** Which partition holds a submission; null: none. */
async function placeOf({ id }: { id: string }): Promise<string | null> {
  const { rows } = await other.query<{ place: string }>(
    'SELECT tableoid::regclass::text AS place FROM submission WHERE id = $1',
    [id],
  );
  return rows[0]?.place ?? null;
}

const december = new Date('2026-12-15T12:00:00Z');

describe('partitions', () => {
  test.each(['submission', 'rejected_submission'] as const)(
    'of %s are made ahead, and made once',
    async (table) => {
      const made = [`${table}_past`, `${table}_2026_12`, `${table}_2027_01`, `${table}_2027_02`];
      expect(await makePartitions(store, table, december)).toEqual(made);
      expect(await makePartitions(store, table, december)).toEqual([]);
      expect(await listPartitions(store.prisma, table)).toEqual(
        [...made, `${table}_default`].toSorted(),
      );
    },
  );

  test('a submission goes where its id says, an imported one of an earlier time to the past', async () => {
    await makePartitions(store, 'submission', december);
    const first = submissionOf('2026-12-01T00:00:00.000Z');
    const last = submissionOf('2026-12-31T23:59:59.999Z');
    const imported = submissionOf('2019-03-04T05:06:07Z');
    await apply(first, last, imported);
    expect(await placeOf(first)).toBe('submission_2026_12');
    expect(await placeOf(last)).toBe('submission_2026_12');
    expect(await placeOf(imported)).toBe('submission_past');
  });

  test('after months without a worker there is no gap, whose rows would fill the default partition', async () => {
    await makePartitions(store, 'submission', december);
    const made = await makePartitions(store, 'submission', new Date('2027-05-01T00:00:00Z'));
    expect(made.map((name) => name.slice(-7))).toEqual([
      ...['2027_03', '2027_04', '2027_05', '2027_06', '2027_07'],
    ]);
  });

  test('what was stored before there was a partition for it moves into it', async () => {
    const early = submissionOf('2026-12-02T00:00:00Z');
    await apply(early);
    expect(await placeOf(early)).toBe('submission_default');
    await makePartitions(store, 'submission', december);
    expect(await placeOf(early)).toBe('submission_2026_12');
  });

  test('two workers that start at once make them once', async () => {
    const again = async (): Promise<string[]> =>
      makePartitions(store, 'submission', december).catch((error: unknown) => {
        expect(error).toMatchObject({ code: '55P03' });
        return again();
      });
    await Promise.all([again(), again(), again()]);
    expect(await listPartitions(store.prisma, 'submission')).toHaveLength(5);
  });

  test('making them waits for no reader or writer of the table', async () => {
    const existing = submissionOf('2026-12-02T00:00:00Z');
    await makePartitions(store, 'submission', december);
    await other.query('BEGIN');
    await other.query('SELECT count(*) FROM submission_2026_12');
    await other.query(`DELETE FROM submission_2026_12 WHERE id = '${existing.id}'`);
    const made = await makePartitions(store, 'submission', new Date('2027-01-01T00:00:00Z'));
    expect(made).toEqual(['submission_2027_03']);
    await other.query('ROLLBACK');
  });
});

describe('retention', () => {
  const march = new Date('2027-03-10T00:00:00Z');
  const january = new Date('2027-01-20T00:00:00Z');

  /** As if they had been accepted at this moment. */
  const accepted = (at: string | Date, ...submissions: { id: string }[]) =>
    other.query('UPDATE submission SET applied_at = $1 WHERE id = ANY ($2)', [
      at,
      submissions.map(({ id }) => id),
    ]);
  const applyAt = async (at: string, submission: ReturnType<typeof submissionOf>) => {
    await apply(submission);
    await accepted(at, submission);
    return submission;
  };
  const drop = async (horizon: Date) => {
    await allowRetention(store, 'submission', horizon);
    return dropAcceptedBefore(store, 'submission', horizon);
  };

  test('drops the months that ended, keeps the one it cuts, and no lead goes', async () => {
    await makePartitions(store, 'submission', december);
    const old = await applyAt('2026-12-02T00:00:00Z', submissionOf('2026-12-02T00:00:00Z'));
    const cut = await applyAt('2027-01-02T00:00:00Z', submissionOf('2027-01-02T00:00:00Z'));
    expect(await drop(january)).toEqual({
      kind: 'dropped',
      partitions: ['submission_2026_12'],
      rows: 0,
    });
    expect(await placeOf(old)).toBeNull();
    expect(await placeOf(cut)).toBe('submission_2027_01');
    expect(await store.prisma.lead.count({ where: { workspaceId } })).toBe(2);
  });

  test.each([
    ['a row of a file without a time', '1970-01-01T00:00:00Z'],
    ['a post by a receiver whose clock is years behind', '2019-03-04T05:06:07Z'],
    ['one by a receiver whose clock is years ahead', '2031-03-04T05:06:07Z'],
    ['an imported row or a late spool of a month that ended', '2026-12-02T00:00:00Z'],
  ])('%s is kept from when it was accepted, and goes after that', async (_what, at) => {
    await makePartitions(store, 'submission', december);
    const early = await applyAt('2026-12-03T00:00:00Z', submissionOf(at));
    const late = await applyAt('2027-01-25T00:00:00Z', submissionOf(at));
    expect(await drop(january)).toMatchObject({ kind: 'dropped', rows: 1 });
    expect([await placeOf(early), await placeOf(late)]).toEqual([null, expect.any(String)]);
    await drop(march);
    expect(await placeOf(late)).toBeNull();
  });

  test('an imported row whose submission went is still known, and changes nothing newer', async () => {
    await makePartitions(store, 'submission', december);
    const leadId = randomUUID();
    const row = { ...submissionOf('1970-01-01T00:00:00Z', leadId), source: 'import' as const };
    const first = { ...row, order: 1_000, stamp: 1_000, lead: { name: 'Old' } };
    await apply(first);
    await apply(submissionOf('2027-01-02T00:00:00Z', leadId));
    await accepted('2026-12-03T00:00:00Z', row);
    expect(await drop(january)).toMatchObject({ rows: 1 });
    expect(await submissionsThere(store, [row.id, randomUUID()])).toEqual(new Set([row.id]));
    const later = Date.parse('2027-02-01T00:00:00Z') * 1_000;
    await apply({ ...first, order: later, stamp: later });
    expect(await placeOf(row)).toBeNull();
    expect(await store.prisma.lead.findFirst({ where: { id: leadId } })).toMatchObject({
      name: '2027-01-02T00:00:00Z',
    });
  });

  test('a job that comes again after its month went changes nothing, and its row goes again', async () => {
    await makePartitions(store, 'submission', december);
    const leadId = randomUUID();
    const old = await applyAt('2026-12-02T00:00:00Z', submissionOf('2026-12-02T00:00:00Z', leadId));
    await apply(submissionOf('2027-02-02T00:00:00Z', leadId));
    const lead = () =>
      store.prisma.lead.findUniqueOrThrow({
        where: { workspaceId_id: { workspaceId, id: leadId } },
        omit: { updatedAt: true },
      });
    const stood = await lead();
    await drop(january);
    await applyAt('2027-02-03T00:00:00Z', old);
    expect(await lead()).toEqual(stood);
    expect(await placeOf(old)).toBe('submission_default');
    await drop(march);
    expect(await placeOf(old)).toBeNull();
  });

  test('goes no further than a month beyond the last run without the word of an operator', async () => {
    await makePartitions(store, 'submission', december);
    const old = await applyAt('2026-12-02T00:00:00Z', submissionOf('2026-12-02T00:00:00Z'));
    const dropBefore = (at: string) => dropAcceptedBefore(store, 'submission', new Date(at));
    const standing = async () => (await retentionStandings(store)).at(0);

    // The first run counts from the oldest row.
    expect(await dropBefore('2028-02-01T00:00:00Z')).toMatchObject({ kind: 'not-allowed' });
    expect(await placeOf(old)).not.toBeNull();
    expect(await standing()).toMatchObject({ horizon: null, wanted: new Date('2028-02-01') });
    await dropBefore('2026-12-01T00:00:00Z');
    expect(await standing()).toMatchObject({ horizon: new Date('2026-12-01'), wanted: null });

    expect(await dropBefore('2027-01-02T00:00:00Z')).toMatchObject({ kind: 'not-allowed' });
    expect(await placeOf(old)).not.toBeNull();
    await allowRetention(store, 'submission', new Date('2027-01-02T00:00:00Z'));
    expect(await dropBefore('2027-01-02T00:00:00.001Z')).toMatchObject({ kind: 'not-allowed' });
    expect(await dropBefore('2027-01-02T00:00:00Z')).toMatchObject({ kind: 'dropped' });
    expect(await placeOf(old)).toBeNull();
    // From there on by itself again, and one with a shorter retention does not turn it back.
    expect(await dropBefore('2027-02-01T00:00:00Z')).toMatchObject({ kind: 'dropped' });
    expect(await dropBefore('2027-01-15T00:00:00Z')).toMatchObject({ kind: 'dropped' });
    expect(await standing()).toMatchObject({ horizon: new Date('2027-02-01') });
  });

  test('gives up soon when the table is in use, so that workers do not queue behind it', async () => {
    await makePartitions(store, 'submission', december);
    const february = new Date('2027-02-20T00:00:00Z');
    await other.query('BEGIN');
    await other.query('SELECT count(*) FROM submission');
    const start = performance.now();
    const dropping = drop(february).catch((error: unknown) => error);
    // A worker's group waits behind the attempt, and no longer than that.
    await apply(submissionOf('2027-02-02T00:00:00Z'));
    expect(performance.now() - start).toBeLessThan(5_000);
    expect(await dropping).toMatchObject({ code: '55P03' });
    await other.query('ROLLBACK');
    expect(await drop(february)).toMatchObject({
      partitions: ['submission_2026_12', 'submission_2027_01'],
    });
  });
});

test('who read what is only added to, month by month, and an old month goes as a whole', async () => {
  const read = {
    ...{ actor: { kind: 'operator' as const, name: 'Ana' }, action: 'lead.show' },
    ...{ workspaceId: null, leadIds: [randomUUID()], sought: null, requestId: null },
  };
  const months = async () =>
    (
      await other.query<{ name: string }>(
        `SELECT inhrelid::regclass::text AS name FROM pg_inherits
       WHERE inhparent = 'person_read'::regclass ORDER BY 1`,
      )
    ).rows.map(({ name }) => name);
  const made = await months();
  expect(made).toHaveLength(3);
  // No worker made the month.
  for (const name of made) await other.query(`DROP TABLE ${name}`);
  await recordRead(store, read);
  expect(await listReads(store, { limit: 9 })).toMatchObject([
    { action: 'lead.show', leadIds: read.leadIds },
  ]);
  for (const refused of [
    ...['DELETE FROM person_read', "UPDATE person_read SET action = 'x'", 'TRUNCATE person_read'],
    `DELETE FROM ${made[0]}`,
  ])
    await expect(other.query(refused), refused).rejects.toThrow('only added to');

  await other.query(
    `CREATE TABLE person_read_2024_01 PARTITION OF person_read FOR VALUES FROM ('2024-01-01Z') TO ('2024-02-01Z')`,
  );
  expect(await keepReads(store, 36_500)).toBe(0);
  expect(await keepReads(store, 180)).toBe(1);
  expect(await months()).toEqual(made);
  await expect(keepReads(store, 179)).rejects.toThrow();
});
