import { applySubmissions, emptyLead, resolveCustomFields } from '@leadgate/leads';
import { testDatabase } from '@leadgate/testkit';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { applyGroup } from '../apply/apply-group.ts';
import { sampleSubmission } from '../apply/sample-submission.ts';
import { openStore, type Store } from '../open-store.ts';
import { dropSubmissionsBefore } from './drop-submissions-before.ts';
import { listPartitions } from './list-partitions.ts';
import { makePartitions } from './make-partitions.ts';
import { firstIdAt } from './month.ts';

const rules = { emptyLead, applySubmissions, resolveCustomFields };

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
  return sampleSubmission({ workspaceId, id, leadId, order, stamp: order, lead: { name: at } });
}

const apply = (...submissions: ReturnType<typeof submissionOf>[]) =>
  applyGroup(
    store,
    submissions.map((submission) => ({ submission, replay: false })),
    rules,
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
  const february = new Date('2027-02-20T00:00:00Z');

  test('drops the months that ended, keeps the one it cuts, and no lead goes', async () => {
    await makePartitions(store, 'submission', december);
    const leadId = randomUUID();
    const old = submissionOf('2026-12-02T00:00:00Z', leadId);
    const imported = submissionOf('2019-03-04T05:06:07Z');
    const cut = submissionOf('2027-01-02T00:00:00Z');
    await apply(old, imported, cut);
    const before = new Date('2027-01-20T00:00:00Z');
    expect(await dropSubmissionsBefore(store, before)).toEqual({
      partitions: ['submission_2026_12'],
      rows: 1,
    });
    expect(await placeOf(old)).toBeNull();
    expect(await placeOf(imported)).toBeNull();
    expect(await placeOf(cut)).toBe('submission_2027_01');
    expect(await store.prisma.lead.count({ where: { workspaceId } })).toBe(3);
  });

  test('a job that comes again after its month went changes nothing, and its row goes again', async () => {
    await makePartitions(store, 'submission', december);
    const leadId = randomUUID();
    const old = submissionOf('2026-12-02T00:00:00Z', leadId);
    const newer = submissionOf('2027-02-02T00:00:00Z', leadId);
    await apply(old, newer);
    const lead = () =>
      store.prisma.lead.findUniqueOrThrow({
        where: { workspaceId_id: { workspaceId, id: leadId } },
        omit: { updatedAt: true },
      });
    const stood = await lead();
    await dropSubmissionsBefore(store, new Date('2027-01-20T00:00:00Z'));
    await apply(old);
    expect(await lead()).toEqual(stood);
    expect(await placeOf(old)).toBe('submission_default');
    await dropSubmissionsBefore(store, march);
    expect(await placeOf(old)).toBeNull();
  });

  test('gives up soon when the table is in use, so that workers do not queue behind it', async () => {
    await makePartitions(store, 'submission', december);
    await other.query('BEGIN');
    await other.query('SELECT count(*) FROM submission');
    const start = performance.now();
    const dropping = dropSubmissionsBefore(store, february).catch((error: unknown) => error);
    // A worker's group waits behind the attempt, and no longer than that.
    const late = submissionOf('2027-02-02T00:00:00Z');
    await apply(late);
    expect(performance.now() - start).toBeLessThan(5_000);
    expect(await dropping).toMatchObject({ code: '55P03' });
    await other.query('ROLLBACK');
    expect((await dropSubmissionsBefore(store, february)).partitions).toEqual([
      'submission_2026_12',
      'submission_2027_01',
    ]);
  });
});
