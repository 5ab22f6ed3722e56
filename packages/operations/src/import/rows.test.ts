import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { mapRow } from './columns.ts';
import { openInput } from './open-input.ts';
import { openRows, type Row } from './rows.ts';

async function rowsOf(pieces: Iterable<string>): Promise<Row[]> {
  const source = await openRows(await openInput(Readable.from(pieces)));
  await source.keep(false);
  const rows: Row[] = [];
  for await (const row of source.rows.rows) rows.push(row);
  await source.close();
  return rows;
}

test.each([
  ['CSV of empty lines', 'email,name\n', '\n'],
  ['CSV of blank lines', 'email,name\n', ' \n'],
  ['CSV of a cell without end', 'email,name\na@example.com,"', 'x'],
  ['CSV of quotes', 'email,name\n', '"'],
  ['NDJSON of empty lines', '{"a":1}\n', '\n'],
  ['JSON of a string without end', '[{"a":"', 'x'],
])('%s lets others in although it gives no row to stop at', async (_, begin, rest) => {
  let [turns, ended] = [0, false];
  const turn = () => {
    turns += 1;
    if (!ended) setImmediate(turn);
  };
  setImmediate(turn);
  const piece = rest.repeat(65_536 / rest.length);
  await rowsOf([begin, ...Array.from({ length: 100 }, () => piece)]);
  ended = true;
  expect(turns).toBeGreaterThan(0);
});

test('a value that is nested too deep to be written again stands for itself alone', async () => {
  const deep = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`;
  const rows = await rowsOf([`{"x":${deep},"email":"a@example.com"}\n{"email":"b@example.com"}\n`]);
  expect(rows.map(({ values }) => values)).toEqual([
    [
      ['x', [[]]],
      ['email', 'a@example.com'],
    ],
    [['email', 'b@example.com']],
  ]);
});

test('a row of many custom fields is mapped in a time that grows with them, not with their square', () => {
  const values = Array.from({ length: 50_000 }, (_, i) => [`customFields.c${i}`, i] as const);
  const { body } = mapRow(values, {
    target: (path) => ({ kind: 'field', path }),
    ...{ typed: null, isMeta: false, day: () => null },
  });
  expect(Object.keys(body['customFields'] as object)).toHaveLength(50_000);
});
