import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import Papa from 'papaparse';
import { expect, test } from 'vitest';
import { csvRecord, fromNeutral, readCsv, toNeutral, type CsvRecord } from './csv.ts';

/** In pieces that cut quotes, line breaks and cells anywhere. */
async function read(
  text: string,
  { delimiter, size = 5 }: { delimiter?: string; size?: number } = {},
) {
  async function* pieces() {
    for (let at = 0; at < text.length; at += size)
      yield await Promise.resolve(text.slice(at, at + size));
  }
  const csv = await readCsv(pieces(), delimiter);
  const records: CsvRecord[] = [];
  for await (const record of csv.records) records.push(record);
  return { ...csv, records };
}
const good = (records: CsvRecord[]) =>
  records.flatMap(({ fault, cells }) => (fault === null ? [cells] : []));
const faults = (records: CsvRecord[]) =>
  records.flatMap(({ fault }) => (fault === null ? [] : [fault]));

/** Of the characters that matter, often. */
const nasty = fc.string({
  unit: fc.constantFrom(...'ab1=+-@＝\'"\n\r\t;,| é', '""', '\r\n', '="', "'=", '\u2028'),
  maxLength: 12,
});
const DELIMITERS = [',', ';', '\t', '|'];

test('a neutral cell is made what it was again, whatever it is', () => {
  fc.assert(
    fc.property(nasty, (cell) => {
      expect(fromNeutral(toNeutral(cell))).toBe(cell);
    }),
    { numRuns: 2_000 },
  );
});

const FORMULA = /^[\s"]*[=+\-@＝＋－＠]/;

test.each(DELIMITERS)(
  'no reader sees a formula or a row more in what we wrote, whichever delimiter it guesses (%j)',
  (delimiter) => {
    fc.assert(
      fc.property(fc.array(nasty, { minLength: 2, maxLength: 4 }), (cells) => {
        const text =
          csvRecord(
            cells.map((_, i) => `c${i}`),
            delimiter,
          ) + csvRecord(cells, delimiter);
        const strict: string[][] = parse(text, { delimiter });
        expect(strict[1]).toEqual(cells.map(toNeutral));
        for (const guess of ['', ...DELIMITERS])
          for (const row of Papa.parse<string[]>(text, { delimiter: guess }).data)
            for (const cell of row) expect(cell).not.toMatch(FORMULA);
        // Nor one that knows no quotes at all.
        for (const cell of text.split(/[\r\n\t;,|]/)) expect(cell).not.toMatch(FORMULA);
      }),
    );
  },
);

test.each(["Ana\n=cmd|'/C calc'!A0", 'Ana;=cmd', '=1+1', '\t@x', 'a,"=1+1"'])(
  '%j is neutral',
  (cell) => {
    const [[, found] = []] = Papa.parse<string[]>(csvRecord(['x', cell], ',')).data;
    expect(found?.split(/[\n;,\t]/).some((part) => FORMULA.test(part))).toBe(false);
  },
);

test('what a strict reader can read is read as it does, whatever the delimiter', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...DELIMITERS),
      fc.array(fc.tuple(nasty, nasty, nasty), { maxLength: 5 }),
      async (delimiter, rows) => {
        const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
        const lines = [['h1', 'h2', 'h3'], ...rows].map((row) => row.map(quoted).join(delimiter));
        const strict: string[][] = parse(lines.join('\r\n'), { delimiter });
        const { columns, records } = await read(lines.join('\r\n'), { delimiter });
        expect([columns, ...records.map(({ cells }) => cells)]).toEqual(
          strict
            .filter((row, i) => i === 0 || row.some((cell) => cell.trim() !== ''))
            .map((row) =>
              row.map((cell) =>
                /^\s*=".+"\s*$/s.test(cell) ? cell.trim().slice(2, -1).replaceAll('""', '"') : cell,
              ),
            ),
        );
        expect(faults(records)).toEqual([]);
      },
    ),
  );
});

test.each(DELIMITERS)('a quote that is left open costs its own row only (%j)', async (d) => {
  const row = (...cells: string[]) => cells.join(d);
  const text = [
    row('name', 'email', 'phone'),
    row('"Ana', 'ana@x.example', '11987650001'),
    row('Bia', 'bia@x.example', '11987650002'),
    row('Caio "Cacá" Souza', 'caio@x.example', '11987650003'),
    row('Duda', ' "duda@x.example" ', '11987650004'),
    row('"Eva" Lima', 'eva@x.example', '11987650005'),
    row('"Fe\n""F"" ' + d + '"', 'fe@x.example', '11987650006'),
    row('', '', ''),
    row('Gil', 'gil@x.example'),
    row('Hugo', 'hugo@x.example', '11987650008', 'x'),
    row('Iva', 'iva@x.example', '="11987650009"'),
  ].join('\n');
  const { records } = await read(text);
  expect(good(records)).toEqual([
    ['Bia', 'bia@x.example', '11987650002'],
    ['Caio "Cacá" Souza', 'caio@x.example', '11987650003'],
    ['Duda', 'duda@x.example', '11987650004'],
    [`Fe\n"F" ${d}`, 'fe@x.example', '11987650006'],
    ['Iva', 'iva@x.example', '11987650009'],
  ]);
  expect(faults(records)).toEqual([
    expect.stringContaining('Line 2, column 1'),
    expect.stringContaining('Line 6, column 1'),
    'Line 10: it has 2 cells, and the head 3.',
    'Line 11: it has 4 cells, and the head 3.',
  ]);
});

/** One row whose quote is left open, and a later one in which a quote is that would close it. */
const SWALLOWING: [where: string, head: string, open: string, good: string[][]][] = [
  [
    'a cell ends with a quote',
    'name email phone',
    '"Ana a@x.example 1',
    [
      ['Bia', 'b@x.example', '2'],
      ['Caio 5"', 'c@x.example', '3'],
    ],
  ],
  [
    'the first cell of the next row ends with one',
    'name email phone',
    '"Ana a@x.example 11987650001',
    [
      ['Bia"', 'b@x.example', '2'],
      ['Caio', 'c@x.example', '3'],
    ],
  ],
  [
    'the last cell of a later row ends with one',
    'email phone name',
    'a@x.example 1 "Ana',
    [
      ['b@x.example', '2', 'Bia'],
      ['c@x.example', '3', 'Caio"'],
      ['d@x.example', '4', 'D'],
    ],
  ],
  [
    'what it encloses is no row of the file',
    'name email note',
    '"Ana a@x.example x',
    [
      ['Bia', 'b@x.example', '5"'],
      ['Caio', 'c@x.example', 'z'],
    ],
  ],
];

test.each(DELIMITERS)('a quote left open costs its row alone, delimiter %j', async (delimiter) => {
  for (const [where, head, open, rows] of SWALLOWING) {
    const first = [head, open].map((line) => line.split(' ').join(delimiter));
    const text = [...first, ...rows.map((cells) => cells.join(delimiter)), ''].join('\r\n');
    const { records } = await read(text);
    expect(good(records), where).toEqual(rows);
    expect(faults(records), where).toEqual([expect.stringContaining('Line 2')]);
  }
});

test('rows within a cell are taken neither as one row nor as rows', async () => {
  const pasted =
    'name,note,email\nAna,"see:\nx,y@z.example,w\nend",a@x.example\nBia,b,b@x.example\n';
  const { records } = await read(pasted);
  expect(good(records)).toEqual([['Bia', 'b', 'b@x.example']]);
  expect(faults(records)).toEqual([expect.stringContaining('Line 2: a cell in quotes holds')]);
  // In a file whose cells are all quoted nothing was left open: somebody wrote that.
  const all = '"name","email"\n"Ana","a@x.example\nFake,f@x.example"\n';
  expect(good((await read(all)).records)).toEqual([['Ana', 'a@x.example\nFake,f@x.example']]);
});

test('the delimiter is told by the head, whose cells may hold line breaks and other delimiters', async () => {
  const text = '"E-mail, or\nother, contact";name;plan\na@x.example;Ana;gold\n';
  expect(await read(text)).toMatchObject({
    delimiter: ';',
    columns: ['E-mail, or\nother, contact', 'name', 'plan'],
  });
  expect(await read('sep=|\na|b\n1|2\n')).toMatchObject({ delimiter: '|', columns: ['a', 'b'] });
  // Of two that stand as often in it, the one that the next row has as often.
  const prices = 'name;price, in reais;e-mail, main\nAna;1,5;a@x.example\n';
  expect(await read(prices)).toMatchObject({ delimiter: ';' });
});

test('a file full of quotes left open takes time in proportion to its length', async () => {
  const line = `"a${'""b'.repeat(20)}\n`;
  const time = async (lines: number) => {
    const start = performance.now();
    await read(`x,y\n${line.repeat(lines)}`, { delimiter: ',', size: 65_536 });
    return performance.now() - start;
  };
  await time(500);
  expect(await time(20_000)).toBeLessThan(3_000);
});
