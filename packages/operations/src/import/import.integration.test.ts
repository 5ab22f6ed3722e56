import { PassThrough, Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { customFieldKey } from '@leadgate/leads';
import { createField, findLeads, linkEntries, listFields, listSubmissions } from '@leadgate/store';
import { testDatabase, testRedis } from '@leadgate/testkit';
import iconv from 'iconv-lite';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { operationsUnderTest, type OperationsUnderTest } from '../operations-under-test.ts';
import { createErrorReport, type ErrorReport } from './error-report.ts';
import { importRows, type ImportOptions } from './import-rows.ts';
import { UnreadableInput } from './open-text.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let house: OperationsUnderTest;
let link: { workspaceId: string; linkId: string };
beforeAll(async () => {
  database = await testDatabase();
  const redis = await testRedis();
  house = operationsUnderTest({ databaseUrl: database.url, redisUrl: redis.url });
});
beforeEach(async () => {
  house.queue.length = 0;
  link = await house.open();
});
afterAll(async () => {
  await house.close();
  await database.drop();
});

/** In pieces that cut characters, lines and quotes anywhere. */
function inPieces(content: string | Buffer, size = 7): Readable {
  const bytes = Buffer.from(content as string);
  return Readable.from(
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    ),
  );
}

async function bring(content: string | Buffer | Readable, more: Partial<ImportOptions> = {}) {
  const [entry] = await linkEntries(house.store, link.linkId);
  if (entry === undefined) throw new Error('no link');
  const fields = await listFields(house.store, link.workspaceId);
  const source = content instanceof Readable ? content : inPieces(content);
  return importRows(house, source, { link: entry.link, fields, ...more });
}

async function addField(name: string, label: string): Promise<void> {
  const input = { name, label, type: 'text', options: [] } as const;
  await createField(house.store, link.workspaceId, { ...input, options: [] }, { customFieldKey });
}

const leadOf = async (email: string) =>
  (await findLeads(house.store, { workspaceId: link.workspaceId, email }, 5))[0];

const submissions = () => listSubmissions(house.store, { linkId: link.linkId }, 100);

test('columns find their fields by name, case, synonym and label, whatever the delimiter', async () => {
  await addField('plano', 'Plano Escolhido');
  for (const d of [',', ';', '\t', '|']) {
    const head = ['E-mail', 'NOME', 'utm_source', 'Endereço', 'Plano escolhido', 'Coluna X'];
    const email = `ana${d.charCodeAt(0)}@x.example`;
    const row = [email, `"Ana${d} ""Aninha""\nSouza"`, 'meta', 'Rua A', 'ouro', '?'];
    const csv = `${head.join(d)}\r\n${row.join(d)}\r\n\r\n`;
    expect(await bring(csv)).toMatchObject({ rows: 1, imported: 1, ignored: ['Coluna X'] });
    await house.work();
    expect(await leadOf(email)).toMatchObject({
      name: `Ana${d} "Aninha"\nSouza`,
      utmSource: 'meta',
      address: { street: 'Rua A' },
      customFields: { plano: 'ouro' },
    });
  }
});

test('NDJSON, an array, gzip, a byte order mark and other encodings are read alike', async () => {
  const rows = [
    { email: 'joão@x.example', name: 'João', address: { city: 'Olinda' } },
    { email: 'b@x.example', customFields: { a: 'x' }, telephone: 5511987654321 },
  ];
  const ndjson = rows.map((row) => JSON.stringify(row)).join('\n');
  const inputs: [string | Buffer, Partial<ImportOptions>][] = [
    [ndjson, {}],
    [JSON.stringify(rows, null, 2), {}],
    [gzipSync(ndjson), {}],
    [`\ufeff${ndjson}`, {}],
    [iconv.encode(ndjson, 'windows-1252'), { encoding: 'windows-1252' }],
    [iconv.encode(ndjson, 'utf16', { addBOM: true }), {}],
  ];
  const ids = new Set<string>();
  for (const [content, more] of inputs) {
    house.queue.length = 0;
    expect(await bring(content, more)).toMatchObject({ rows: 2, imported: 2, refused: 0 });
    for (const { id } of house.queue) ids.add(id);
  }
  expect(ids.size).toBe(2);
  expect(house.queue[0]).toMatchObject({ lead: { name: 'João' }, source: 'import' });
});

test('the same rows twice change nothing and reserve nothing', async () => {
  const csv = 'email,name\na@x.example,A\nb@x.example,B\na@x.example,A\n';
  expect(await bring(csv)).toMatchObject({ rows: 3, imported: 2, known: 1 });
  await house.work();
  const orders = (await submissions()).map(({ acceptedAt }) => acceptedAt);
  const clock = await house.redis.hget(`leadgate:{${link.workspaceId}}:state`, 'clock');
  expect(await bring('name;email\nA;a@x.example\nB;b@x.example')).toMatchObject({
    imported: 0,
    known: 2,
  });
  expect(house.queue).toEqual([]);
  expect(await house.redis.hget(`leadgate:{${link.workspaceId}}:state`, 'clock')).toBe(clock);
  expect((await submissions()).map(({ acceptedAt }) => acceptedAt)).toEqual(orders);
});

test('a row with a time of its own overwrites nothing newer, and is never from the future', async () => {
  await bring('{"email":"c@x.example","name":"New"}');
  await house.work();
  const old = 'email,name,cidade,criado em\nc@x.example,Old,Recife,27/11/2020 18:00\n';
  await bring(old, { timeColumn: 'criado em', timeOffset: -180 });
  expect(house.queue).toMatchObject([{ stamp: Date.UTC(2020, 10, 27, 21) * 1_000 }]);
  await house.work();
  expect(await leadOf('c@x.example')).toMatchObject({ name: 'New', city: 'Recife' });
  await bring('{"email":"d@x.example","at":"2999-01-01"}', { timeColumn: 'at' });
  expect(house.queue[0]?.stamp).toBe(house.queue[0]?.order);
  const wrong = await bring('{"email":"e@x.example","at":"soon"}', { timeColumn: 'at' });
  expect(wrong.reasons).toEqual([{ pointer: '/at', code: 'invalid-time', rows: 1 }]);
});

test('what is refused comes back as a file that can be mended and imported again', async () => {
  const through = async (content: string, mend: (report: string) => string) => {
    const to = new PassThrough();
    let report: ErrorReport | undefined;
    const reading = textOf(to);
    const result = await bring(content, {
      onStart: (start) => (report = createErrorReport(to, start)),
      onRefused: (row) => report?.add(row),
    });
    await report?.close();
    const written = await reading;
    const again = await bring(mend(written));
    return { result, written, again };
  };
  const csv = await through(
    'email;name;telefone\nx@;"A;B";1\nok@x.example;C;\na;b;c;d\n',
    (report) =>
      report.replace('x@;', 'x@x.example;').replace('"A;B";1', '"A;B";').split('\na;')[0] ?? '',
  );
  expect(csv.result).toMatchObject({ imported: 1, refused: 2 });
  expect(csv.written).toContain('email;name;telefone;leadgate_reason\nx@;"A;B";1;"row 1: /email');
  expect(csv.again).toMatchObject({ rows: 1, imported: 1, refused: 0 });

  const lines = await through('{"email":"y@"}\n{"email":\n', (report) =>
    report.replace('"y@"', '"y@x.example"'),
  );
  expect(lines.result).toMatchObject({ refused: 2 });
  expect(lines.again).toMatchObject({ imported: 1, refused: 1 });

  const array = await through('[{"email":"z@"},{"email":"ok2@x.example"},3]', (report) =>
    report.replace('"z@"', '"z@x.example"'),
  );
  expect(array.again).toMatchObject({ rows: 2, imported: 1, refused: 1 });
});

test('a dry run says what would be refused and writes nothing', async () => {
  const result = await bring('email,phone\nf@x.example,1\ng@x.example,\n,\n', { dryRun: true });
  expect(result).toMatchObject({ rows: 3, imported: 1, refused: 2 });
  expect(result.reasons.map(({ pointer, code }) => `${pointer} ${code}`)).toContain(' empty-row');
  expect(house.queue).toEqual([]);
  const lenient = await bring('email,phone\nf@x.example,1\n', { dryRun: true, lenient: true });
  expect(lenient).toMatchObject({ imported: 1, refused: 0 });
});

test('an operator’s map wins, and says what is ignored', async () => {
  const csv = 'email,name,trabalho\nh@x.example,Not a name,x\n';
  const map = { name: '-', trabalho: 'profession' };
  expect(await bring(csv, { map })).toMatchObject({ imported: 1, ignored: ['name'] });
  expect(house.queue[0]?.lead).toEqual({ email: 'h@x.example', profession: 'x' });
});

test('waits for the queue, stops between two groups, and the same command goes on', async () => {
  const rows = Array.from({ length: 1_200 }, (_, n) => `{"email":"n${n}@x.example"}`).join('\n');
  const stop = new AbortController();
  const stopped = await bring(Readable.from([Buffer.from(rows)]), {
    maxWaiting: 300,
    signal: stop.signal,
    onProgress: ({ waiting }) => {
      if (waiting) stop.abort();
    },
  });
  expect(stopped).toMatchObject({ stopped: true, imported: 500 });
  await house.work();
  const done = await bring(Readable.from([Buffer.from(rows)]));
  expect(done).toMatchObject({ stopped: false, known: 500, imported: 700 });
});

test.each([
  ['', 'empty'],
  [Buffer.from([0x6e, 0x61, 0xe3, 0x6f, 0x0a]), 'not UTF-8'],
  [gzipSync('email\na@x.example\n').subarray(0, 20), 'gzip'],
  ['email,name\na@x.example,"never closed\n'.concat('b@x.example,B\n'.repeat(20_000)), 'quote'],
])('an input that cannot be read is a sentence (%#)', async (content, said) => {
  const failing = bring(Readable.from([Buffer.from(content as string)]));
  await expect(failing).rejects.toThrow(UnreadableInput);
  await expect(failing).rejects.toThrow(said);
});
