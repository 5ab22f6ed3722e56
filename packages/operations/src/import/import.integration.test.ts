import { PassThrough, Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { createField, findLeads, linkEntries, listFields, listSubmissions } from '@leadgate/store';
import iconv from 'iconv-lite';
import { beforeEach, expect, test } from 'vitest';
import { operationsUnderTest } from '../../test/operations.ts';
import { createErrorReport, type ErrorReport } from './rows.ts';
import {
  importRows,
  type ImportOptions,
  type ImportResult,
  type ImportStart,
} from './import-rows.ts';
import { UnreadableInput } from './open-input.ts';
import { excelFile } from '@leadgate/testkit';

const system = await operationsUnderTest();
let link: { workspaceId: string; linkId: string };
beforeEach(async () => {
  await system.forget();
  link = await system.open();
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
  const [entry] = await linkEntries(system.store, link.linkId);
  if (entry === undefined) throw new Error('no link');
  const fields = await listFields(system.store, link.workspaceId);
  const source = content instanceof Readable ? content : inPieces(content);
  return importRows(system, source, { link: entry.link, fields, timeZone: 'UTC', ...more });
}

async function addField(name: string, label: string): Promise<void> {
  const input = { name, label, type: 'text', options: [] } as const;
  await createField(system.store, link.workspaceId, { ...input, options: [] });
}

const leadOf = async (email: string) =>
  (await findLeads(system.store, { workspaceId: link.workspaceId, email }, 5))[0];

const submissions = () => listSubmissions(system.store, { linkId: link.linkId }, 100);

test('columns find their fields by name, case, synonym and label, whatever the delimiter', async () => {
  await addField('plano', 'Plano Escolhido');
  for (const d of [',', ';', '\t', '|']) {
    const head = ['E-mail', 'NOME', 'utm_source', 'Endereço', 'Plano escolhido', 'Coluna X'];
    const email = `ana${d.charCodeAt(0)}@x.example`;
    const row = [email, `"Ana${d} ""Aninha""\nSouza"`, 'meta', 'Rua A', 'ouro', '?'];
    const csv = `${head.join(d)}\r\n${row.join(d)}\r\n\r\n`;
    expect(await bring(csv)).toMatchObject({ rows: 1, imported: 1, ignored: ['Coluna X'] });
    await system.work();
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
    [iconv.encode(ndjson, 'windows-1252'), {}],
    [iconv.encode(ndjson, 'utf16', { addBOM: true }), {}],
    [iconv.encode(ndjson, 'utf-16le', { addBOM: false }), {}],
    [iconv.encode(ndjson, 'utf-16be', { addBOM: false }), {}],
  ];
  const ids = new Set<string>();
  for (const [content, more] of inputs) {
    await system.forget();
    expect(await bring(content, more)).toMatchObject({ rows: 2, imported: 2, refused: 0 });
    for (const { id } of system.queue) ids.add(id);
  }
  expect(ids.size).toBe(2);
  expect(system.queue[0]).toMatchObject({ lead: { name: 'João' }, source: 'import' });
});

test('a row of JSON whose key is nested far too deep is refused, one with such a value of no field is not', async () => {
  const deep = '['.repeat(30_000) + ']'.repeat(30_000);
  const rows = [
    `{"email":"deep@x.example","x":${deep}}`,
    `{"email":"custom@x.example","customFields":{"x":${deep}}}`,
    `{"email":${deep}}`,
    '{"email":"after@x.example"}',
  ];
  expect(await bring(rows.join('\n'))).toMatchObject({ rows: 4, imported: 3, refused: 1 });
  await system.work();
  expect(await leadOf('deep@x.example')).toBeDefined();
  expect(await leadOf('custom@x.example')).toBeDefined();
  expect(await leadOf('after@x.example')).toBeDefined();
});

test('an Excel file is read as people see it, and says which sheet and columns', async () => {
  await addField('plano', 'Plano');
  const head = ['Nome', 'E-mail', 'Telefone', 'CPF', 'Plano', 'Data', 'X'];
  const cell = (text: string) => `<c t="inlineStr"><is><t>${text}</t></is></c>`;
  const rows = `<row r="2">${head.map(cell).join('')}</row>
    <row r="3">${cell('Ana')}${cell('ana@x.example')}<c><v>5.511987654321E+12</v></c><c s="1"><v>1234567890</v></c><c><v>1.5</v></c><c s="2"><v>45981.5</v></c><c t="e"><v>#N/A</v></c></row>
    <row r="4">${cell('Bia')}${cell('b@')}<c/><c/><c/><c s="2"><v>45981</v></c></row>
    <row r="5">${cell('Caio')}${cell('caio@x.example')}<c/><c/><c/><c/><c/><c/>${cell('?')}</row>`;
  const bytes = excelFile({
    sheets: [{ name: 'opções', state: 'hidden' }, { name: 'Leads' }, { name: 'Antigos' }],
    formats: ['00000000000', 'dd/mm/yyyy hh:mm'],
    rows,
  });
  const to = new PassThrough();
  const reading = textOf(to);
  let told: ImportStart | undefined;
  let report: ErrorReport | undefined;
  const result = await bring(Buffer.from(bytes), {
    timeColumn: 'Data',
    timeZone: -180,
    onStart: (start) => {
      told = start;
      report = createErrorReport(to, start);
    },
    onRefused: (row) => report?.add(row),
  });
  await report?.close();
  expect(result).toMatchObject({ rows: 3, imported: 1, refused: 2, ignored: ['X'] });
  expect(told?.sheet).toEqual({ name: 'Leads', all: ['Leads', 'Antigos'] });
  expect(told?.columns?.map(({ goes }) => goes).slice(0, 4)).toEqual([
    'name',
    'email',
    'telephone',
    'document',
  ]);
  expect(system.queue).toMatchObject([
    {
      stamp: Date.UTC(2025, 10, 20, 15) * 1_000,
      lead: {
        name: 'Ana',
        telephone: '5511987654321',
        document: '01234567890',
        customFields: { Plano: 1.5 },
      },
    },
  ]);
  // The rows to be mended are a CSV, told of by the numbers that Excel shows.
  const written = await reading;
  expect(written).toContain('"Bia","b@","","","","2025-11-20","","row 4: /email');
  expect(written).toContain('Row 5: it has cells to the right');
  await system.forget();
  expect(
    await bring(written.replace('"b@"', '"b@x.example"'), { timeColumn: 'Data' }),
  ).toMatchObject({
    imported: 1,
    refused: 1,
  });
});

test('the same rows twice change nothing and reserve nothing', async () => {
  const csv = 'email,name\na@x.example,A\nb@x.example,B\na@x.example,A\n';
  expect(await bring(csv)).toMatchObject({ rows: 3, imported: 2, known: 1 });
  await system.work();
  const orders = (await submissions()).map(({ acceptedAt }) => acceptedAt);
  const clock = await system.redis.hget(`leadgate:{${link.workspaceId}}:state`, 'clock');
  expect(await bring('name;email\nA;a@x.example\nB;b@x.example')).toMatchObject({
    imported: 0,
    known: 2,
  });
  expect(system.queue).toEqual([]);
  expect(await system.redis.hget(`leadgate:{${link.workspaceId}}:state`, 'clock')).toBe(clock);
  expect((await submissions()).map(({ acceptedAt }) => acceptedAt)).toEqual(orders);
});

test('a row with a time of its own overwrites nothing newer, and is never from the future', async () => {
  await bring('{"email":"c@x.example","name":"New"}');
  await system.work();
  const old = 'email,name,cidade,criado em\nc@x.example,Old,Recife,27/11/2020 18:00\n';
  await bring(old, { timeColumn: 'criado em', timeZone: -180 });
  expect(system.queue).toMatchObject([{ stamp: Date.UTC(2020, 10, 27, 21) * 1_000 }]);
  await system.work();
  expect(await leadOf('c@x.example')).toMatchObject({ name: 'New', city: 'Recife' });
  await bring('{"email":"d@x.example","at":"2999-01-01"}', { timeColumn: 'at' });
  expect(system.queue[0]?.stamp).toBe(system.queue[0]?.order);
  await system.forget();
  const soon = '{"email":"e@x.example","at":"soon"}';
  const wrong = await bring(soon, { timeColumn: 'at' });
  expect(system.queue).toEqual([]);
  await bring(soon, { timeColumn: 'at', lenient: true });
  expect(system.queue[0]?.notes).toMatchObject([{ field: '/at', code: 'set-aside' }]);
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
    'email;name;telefone\nx@;"A;=B";1\nok@x.example;C;\na;b;c;d\n"e;f;g\n',
    (report) => report.replace('"x@"', '"x@x.example"').replace('"1"', '""'),
  );
  expect(csv.result).toMatchObject({ imported: 1, refused: 3 });
  expect(csv.written).toContain('"email";"name";"telefone";"leadgate_reason"\r\n');
  expect(csv.written).toContain('"x@";"A;\'=B";"1";"row 1: /email');
  // What is no row stays none until it is mended.
  expect(csv.again).toMatchObject({ rows: 3, imported: 1, refused: 2 });
  expect(system.queue.at(-1)?.lead).toMatchObject({ name: 'A;=B' });

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
  const result = await bring('email,phone,x\nf@x.example,1,\ng@x.example,,\n,,\n, ,y\n', {
    dryRun: true,
  });
  expect(result).toMatchObject({ rows: 3, imported: 1, refused: 2 });
  expect(result.reasons.map(({ pointer, code }) => `${pointer} ${code}`)).toContain(' empty-row');
  expect(system.queue).toEqual([]);
  const lenient = await bring('email,phone\nf@x.example,1\n', { dryRun: true, lenient: true });
  expect(lenient).toMatchObject({ imported: 1, refused: 0 });
});

test('an operator’s map wins, and says what is ignored', async () => {
  const csv = 'email,name,trabalho\nh@x.example,Not a name,x\n';
  const map = { name: '-', trabalho: 'profession' };
  expect(await bring(csv, { map })).toMatchObject({ imported: 1, ignored: ['name'] });
  expect(system.queue[0]?.lead).toEqual({ email: 'h@x.example', profession: 'x' });
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
  await system.work();
  const done = await bring(Readable.from([Buffer.from(rows)]));
  expect(done).toMatchObject({ stopped: false, known: 500, imported: 700 });
});

test.each([
  ['', 'empty'],
  // Both in one, and a byte that neither has.
  [Buffer.concat([Buffer.from('email\nJoão\n'), Buffer.from([0xe3, 0x6f, 0x0a])]), 'not UTF-8'],
  [Buffer.from([0x6e, 0x61, 0xe3, 0x6f, 0x8d, 0x0a]), 'not UTF-8'],
  [gzipSync('email\na@x.example\n').subarray(0, 20), 'gzip'],
  ['email,"name\n'.concat('b@x.example,B\n'.repeat(20_000)), 'head'],
  [Buffer.from('504b030414000600', 'hex'), 'Excel'],
  [Buffer.from('d0cf11e0a1b11ae1', 'hex'), 'Excel'],
])('an input that cannot be read is a sentence (%#)', async (content, said) => {
  const failing = bring(Readable.from([Buffer.from(content as string)]));
  await expect(failing).rejects.toThrow(UnreadableInput);
  await expect(failing).rejects.toThrow(said);
});

test('day and month are decided by all rows of the column, and said before anything is written', async () => {
  const rows = [
    'a@t.example,05/11/2026 10:00',
    'b@t.example,11/25/2026 10:00',
    'c@t.example,26/11/2026',
  ];
  let told: ImportStart | undefined;
  const result = await bring(['email,at', ...rows, 'd@t.example,11/06/2026'].join('\n'), {
    timeColumn: 'at',
    timeZone: 'America/Sao_Paulo',
    onStart: (start) => {
      told = start;
      expect(system.queue).toEqual([]);
    },
  });
  // As many rows say one as the other: the country decides, and the others are refused.
  expect(told?.times).toMatchObject({
    order: 'day-first',
    decidedBy: 'country',
    zone: 'America/Sao_Paulo',
  });
  expect(result).toMatchObject({ imported: 3, refused: 1 });
  await system.forget();
  await bring(['email,at', ...rows.slice(0, 2)].join('\n'), {
    timeColumn: 'at',
    timeZone: -180,
    onStart: (start) => (told = start),
  });
  expect(told?.times).toMatchObject({ order: 'month-first', decidedBy: 'rows' });
  expect(system.queue[0]?.stamp).toBe(Date.UTC(2026, 4, 11, 13) * 1_000);
});

test('a file of Excel in Portuguese is read as it is, and says how its dates are', async () => {
  await createField(system.store, link.workspaceId, {
    ...{ name: 'visita', label: 'Data da visita', type: 'date', options: [] },
  } as const);
  const rows = [
    'Nome;E-mail;Telefone;Data de nascimento;Estado;Data da visita',
    '"Ana\nSouza";ana@x.example;(11) 98765-0001;05/03/1988;São Paulo;01/02/2027',
    'Bia;bia@x.example;;03/04/88;SP;13/02/2027',
    'Caio;caio@x.example;;31/02/1990;;',
  ];
  let told: ImportStart | undefined;
  const bytes = iconv.encode(`sep=;\r\n${rows.join('\r\n')}\r\n`, 'windows-1252');
  const result = await bring(bytes, {
    onStart: (start) => {
      told = start;
      expect(system.queue).toEqual([]);
    },
  });
  expect([told?.encoding, result.encoding]).toEqual(['windows-1252', 'windows-1252']);
  expect(told?.dates).toEqual([
    { column: 'Data de nascimento', order: 'day-first', decidedBy: 'country' },
    { column: 'Data da visita', order: 'day-first', decidedBy: 'rows' },
  ]);
  expect(result).toMatchObject({ imported: 2, refused: 1 });
  expect(result.reasons).toEqual([{ pointer: '/birthday', code: 'not-a-birthday', rows: 1 }]);
  const custom = (day: string) => ({ customFields: { 'Data da visita': day } });
  expect(system.queue.map(({ lead }) => lead)).toMatchObject([
    { name: 'Ana\nSouza', birthday: '1988-03-05', state: 'SP', ...custom('2027-02-01') },
    { birthday: '1988-04-03', ...custom('2027-02-13') },
  ]);
});

const META_HEAD =
  'id created_time ad_id ad_name adset_id adset_name campaign_id campaign_name form_id form_name is_organic platform qual_plano? email full_name phone_number lead_status';

function metaExport(leads: readonly (readonly [id: number, status: string])[]): Buffer {
  const rows = leads.map(([id, status]) =>
    [
      ...[`l:${id}`, '2026-11-20T14:22:31-03:00', 'ag:1', 'Vídeo 1', 'as:2', 'Mães', 'c:3'],
      ...['Black Friday', 'f:4', 'Form', 'false', 'ig', 'ouro', `m${id}@x.example`, `Maria ${id}`],
      ...[`p:+551198765${1000 + id}`, status],
    ].join('\t'),
  );
  const text = [META_HEAD.split(' ').join('\t'), ...rows].join('\r\n');
  return iconv.encode(text, 'utf16', { addBOM: true });
}

test('an export of Meta’s lead ads is read without an option, and that of next week adds the new', async () => {
  const first = await bring(
    metaExport([
      [1, 'CREATED'],
      [2, 'CREATED'],
    ]),
  );
  expect(first).toMatchObject({ imported: 2, refused: 0 });
  expect(first.ignored).toContain('qual_plano?');
  expect(system.queue[0]).toMatchObject({
    stamp: Date.UTC(2026, 10, 20, 17, 22, 31) * 1_000,
    lead: {
      name: 'Maria 1',
      email: 'm1@x.example',
      telephone: '5511987651001',
      ...{ utmSource: 'ig', utmCampaign: 'Black Friday', utmContent: 'Vídeo 1', utmTerm: 'Mães' },
    },
  });
  await system.work();
  const next = await bring(
    metaExport([
      [3, 'CREATED'],
      [2, 'QUALIFIED'],
      [1, 'CREATED'],
    ]),
  );
  expect(next).toMatchObject({ imported: 1, known: 2 });
  await system.work();
  expect(await submissions()).toHaveLength(3);
  const test = metaExport([[9, 'CREATED']])
    .toString('utf16le')
    .slice(1);
  const dummy = test.replace('Maria 9', '<test lead: dummy data for full_name>');
  expect(await bring(dummy)).toMatchObject({ imported: 1, refused: 0 });
  expect(system.queue).toMatchObject([{ held: { reason: 'test' }, identities: [] }]);
  await system.forget();
});

test.each([
  [
    'HubSpot',
    'Record ID,First Name,Last Name,Email,Phone Number,Job Title,City,State/Region,Postal Code\n51,Ana,Sá,ana@h.example,+55 11 98765-0001,Dona,Santos,SP,11010-000\n',
    ['Record ID'],
  ],
  [
    'RD Station',
    'Email;Nome;Celular;Cargo;Cidade;Estado;Tags\nana@h.example;Ana Sá;+55 11 98765-0001;Dona;Santos;São Paulo;a\n',
    ['Tags'],
  ],
  [
    'Google Ads',
    'Lead ID,User Email,Full Name,Phone Number,City,Postal Code,GCLID,Campaign ID\nG-1,ana@h.example,Ana Sá,+5511987650001,Santos,11010-000,g-1,12\n',
    ['Campaign ID'],
  ],
  [
    'a form of Meta’s in Portuguese',
    'nome_completo\te-mail\tnúmero_de_telefone\tcidade\nAna Sá\tana@h.example\t+5511987650001\tSantos\n',
    [],
  ],
])('an export of %s is read without an option', async (_, content, ignored) => {
  expect(await bring(content)).toMatchObject({ imported: 1, refused: 0, ignored });
  expect(system.queue[0]?.lead).toMatchObject({
    ...{ name: 'Ana Sá', email: 'ana@h.example', telephone: '5511987650001', city: 'Santos' },
  });
  const isGoogle = content.startsWith('Lead ID');
  expect(system.queue[0]?.identities.some(({ key }) => key.endsWith(':G-1'))).toBe(isGoogle);
});

test('names in parts are one name, and of two columns for a field the first that is filled stands', async () => {
  let goes: string[] = [];
  const onStart = ({ columns }: ImportStart) =>
    (goes = columns?.map((column) => column.goes) ?? []);
  await bring(
    'First Name,Last Name,Email,Telefone,Celular,Email\nAna,Souza,a@n.example,,11987654321,\n',
    { onStart },
  );
  expect(goes).toEqual([
    'name, first part',
    'name, last part',
    'email',
    'telephone',
    'telephone, if still blank',
    'email, if still blank',
  ]);
  expect(system.queue[0]?.lead).toMatchObject({
    name: 'Ana Souza',
    email: 'a@n.example',
    telephone: '11987654321',
  });
  await system.forget();
  await bring(
    'Nome,Sobrenome,email\nBia,Lima,b@n.example\nCaio Reis,Reis,c@n.example\nNULL,\\N,#N/D\nDuda,nan,d@n.example\n',
  );
  expect(system.queue.map(({ lead }) => lead.name)).toEqual(['Bia Lima', 'Caio Reis', 'Duda']);
});

test('ids of sixteen digits and more keep them, and blanks of other programs are blank', async () => {
  await bring('{"externalId":120211234567890123,"email":"a@id.example"}\n');
  await bring(
    'Nombre;Apellidos;Correo electrónico;Teléfono\nAna;Lima;b@id.example;[NULL]\n<NA>;None;#¡VALOR!;N/D\n',
  );
  expect(system.queue[0]?.identities.map(({ key }) => key)).toContainEqual(
    expect.stringMatching(/:120211234567890123$/),
  );
  expect(system.queue[1]?.lead).toEqual({ name: 'Ana Lima', email: 'b@id.example' });
  expect(system.queue).toHaveLength(2);
});

/**
 * Watches until asked for the most that the process worked from one turn of its event loop to the next: milliseconds of
 * CPU, as others have the machine meanwhile.
 */
function watchTurns(): () => number {
  let longest = 0;
  let last = process.cpuUsage();
  const look = () => {
    const { user, system } = process.cpuUsage(last);
    longest = Math.max(longest, (user + system) / 1_000);
    last = process.cpuUsage();
    next = setImmediate(look);
  };
  let next = setImmediate(look);
  return () => {
    clearImmediate(next);
    return longest;
  };
}

test('no upload holds the process up, whatever it is made of', async () => {
  const uploads = {
    'a JSON array in one line': `[${Array.from({ length: 8_000 }, (_, n) => `{"email":"n${n}@l.example"}`).join(',')}]`,
    'many blanks and nothing else': ' '.repeat(2_000_000),
    'rows of distinct keys': Array.from({ length: 40_000 }, (_, n) => `{"key${n}":1}`).join('\n'),
    'a head of many columns': `${Array.from({ length: 20_000 }, (_, n) => n).join(',')}\n`,
    'quotes left open': `a,b\n${'"x,y\n'.repeat(50_000)}`,
    'line breaks and nothing else': `a,b\n${'\n'.repeat(500_000)}`,
    'columns without end': `email${','.repeat(60_000)}\n`.repeat(20),
    'a row of keys without end':
      `{${Array.from({ length: 5_500 }, (_, n) => `"k${n}":1`).join(',')}}\n`.repeat(50),
    'cells without end': `email\n${`a@l.example${','.repeat(60_000)}\n`.repeat(50)}`,
    'zeros, packed': gzipSync(`a,b\n${`${'0'.repeat(2_000)},1\n`.repeat(20_000)}`),
    'an array in one line, packed': gzipSync(
      `[${Array.from({ length: 40_000 }, (_, n) => `{"email":"n${n}@l.example"}`).join(',')}]`,
    ),
    'a sheet of blank rows': excelFile({ rows: '<row><c s="1"/></row>'.repeat(200_000) }),
  };
  for (const [what, content] of Object.entries(uploads)) {
    const longestTurn = watchTurns();
    const source = Readable.from([...cut(Buffer.from(content as string), 65_536)]);
    const result = await bring(source, { dryRun: true }).catch((error: unknown) => error);
    // Of a machine with others at work; the promise is 50 ms.
    expect(longestTurn(), what).toBeLessThan(150);
    if (result instanceof Error) expect(result).toBeInstanceOf(UnreadableInput);
    else expect((result as ImportResult).ignored.length).toBeLessThanOrEqual(200);
  }
}, 60_000);

test('what a file has more of than any lead is refused, before it is looked at', async () => {
  const names = Array.from({ length: 2_001 }, (_, n) => `c${n}`);
  await expect(bring(`${names.join(',')}\n`, { dryRun: true })).rejects.toThrow(/2001 columns/);
  const row = (keys: readonly string[]) =>
    JSON.stringify(Object.fromEntries(keys.map((key) => [key, 1])));
  const wide = `${row(names)}\n${row([...names.slice(2), 'x'])}\n{"email":"a@l.example"}\n`;
  expect(await bring(wide, { dryRun: true })).toMatchObject({
    ...{ rows: 3, imported: 1, refused: 2 },
    reasons: [{ code: 'malformed-row' }, { code: 'empty-row' }],
  });
});

test('of a file of any length nothing is held but what is being read', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heapMiB = (): number => {
    collect();
    return process.memoryUsage().heapUsed / 2 ** 20;
  };
  const file = gzipSync(Array.from({ length: 100_000 }, (_, n) => `{"key${n}":1}`).join('\n'));
  const before = heapMiB();
  const more: number[] = [];
  const result = await bring(Readable.from([...cut(file, 65_536)]), {
    dryRun: true,
    onRefused: ({ number }) => {
      if (number % 20_000 === 0) more.push(heapMiB() - before);
    },
  });
  expect(result).toMatchObject({ rows: 100_000, refused: 100_000 });
  expect(more).toHaveLength(5);
  expect(Math.max(...more)).toBeLessThan(8);
}, 60_000);

function* cut(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
