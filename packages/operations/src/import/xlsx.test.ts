import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { UnreadableInput } from './open-input.ts';
import { excelFile, type ExcelParts } from '@leadgate/testkit';
import { openWorkbook, type Workbook } from './xlsx.ts';

const undo: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0)) await one();
});

async function opened(bytes: Uint8Array, sheet?: string): Promise<Workbook> {
  const folder = await mkdtemp(join(tmpdir(), 'leadgate-xlsx-'));
  undo.push(() => rm(folder, { recursive: true }));
  const file = await open(join(folder, 'a.xlsx'), 'wx+');
  undo.push(() => file.close());
  await file.appendFile(bytes);
  return openWorkbook(file, sheet);
}

async function rowsOf(workbook: Workbook) {
  const rows: unknown[] = [];
  for await (const { number, cells } of workbook.rows())
    rows.push([number, ...Array.from(cells, (cell = '') => cell)]);
  return rows;
}

const read = async (parts: ExcelParts) => rowsOf(await opened(excelFile(parts)));

/** What stands in A1 of a sheet, of a number in a format. */
async function shown(value: string, format: string, more: ExcelParts = {}) {
  const rows = `<row r="1"><c r="A1" s="1"><v>${value}</v></c></row>`;
  const [row] = await read({ rows, formats: [format], ...more });
  return (row as unknown[] | undefined)?.[1];
}

test('a number in a format of dates is the moment it stands for, of either count of days', async () => {
  expect(await shown('32207', 'dd/mm/yyyy')).toBe('1988-03-05');
  expect(await shown('32207', '14')).toBe('1988-03-05');
  expect(await shown('45981.599664351852', 'dd/mm/yy\\ hh:mm')).toBe('2025-11-20T14:23:31');
  expect(await shown('45981.5', '[$-416]d" de "mmmm" de "yyyy;@')).toBe('2025-11-20T12:00:00');
  expect(await shown('45981', 'mmm-yy')).toBe('2025-11-20');
  expect(await shown('0.6', 'h:mm AM/PM')).toBe('14:24:00');
  expect(await shown('59', 'd/m/yyyy')).toBe('1900-02-28');
  expect(await shown('61', 'd/m/yyyy')).toBe('1900-03-01');
  expect(await shown('30745', 'd/m/yyyy', { is1904: true })).toBe('1988-03-05');
  expect(await shown('32207', '0" dias"')).toBe('32207');
  expect(await shown('32207', 'General')).toBe('32207');
  expect(await shown('32207', '[Red]0')).toBe('32207');
  expect(await shown('-1', 'd/m/yyyy')).toBe('-1');
});

test('a number is its digits: telephones and ids have no exponent, and zeros that are shown', async () => {
  expect(await shown('5511987654321', 'General')).toBe('5511987654321');
  expect(await shown('5.511987654321E+12', 'General')).toBe('5511987654321');
  expect(await shown('1.2021123456789E+17', '0')).toBe('120211234567890000');
  expect(await shown('5511987654321.0', 'General')).toBe('5511987654321');
  expect(await shown('1234567890', '00000000000')).toBe('01234567890');
  expect(await shown('1310100', '00000\\-000')).toBe('01310100');
  expect(await shown('0.30000000000000004', '0.00')).toBe(0.3);
  expect(await shown('12.345', '0.000')).toBe(12.345);
});

test('texts are whole: shared, in runs, of formulas, with what XML cannot hold; errors are blank', async () => {
  const rows = await read({
    strings: [
      '<t xml:space="preserve"> Ana </t>',
      '<r><t>Bia </t></r><r><rPr><b/></rPr><t>&amp; Cia</t></r><rPh><t>kana</t></rPh>',
      '<t>um_x000D_\ndois _x005F_x</t>',
    ],
    rows: `<row r="2"><c r="A2" t="s"><v>0</v></c><c r="C2" t="s"><v>1</v></c></row>
      <row r="4"><c t="inlineStr"><is><t>dentro</t></is></c><c t="str"><f>A1&amp;"x"</f><v>junto</v></c>
      <c t="e"><v>#N/A</v></c><c t="b"><v>1</v></c><c t="b"><v>0</v></c><c t="d"><v>2026-11-20T00:00:00</v></c></row>
      <row r="5"><c r="A5"/><c r="B5" t="e"><v>#REF!</v></c></row>
      <x:row xmlns:x="y"><x:c t="s"><x:v>2</x:v></x:c></x:row>`,
  });
  expect(rows).toEqual([
    [2, ' Ana ', '', 'Bia & Cia'],
    [4, 'dentro', 'junto', '', 'true', 'false', '2026-11-20'],
    [6, 'um\r\ndois _x'],
  ]);
});

test('the first sheet that can be seen is read, or the one that is named', async () => {
  const sheets = [
    { name: 'listas', state: 'hidden' },
    { name: 'segredo', state: 'veryHidden' },
    { name: 'Leads & Cia' },
    { name: 'Resumo' },
  ];
  const bytes = excelFile({ sheets, rows: '<row><c t="str"><v>a</v></c></row>' });
  expect(await opened(bytes)).toMatchObject({
    sheet: 'Leads & Cia',
    visible: ['Leads & Cia', 'Resumo'],
  });
  expect((await opened(bytes, 'listas')).sheet).toBe('listas');
  await expect(opened(bytes, 'x')).rejects.toThrow('Leads & Cia, Resumo');
});

const cells = (count: number) => '<c t="str"><v>a</v></c>'.repeat(count);

test.each<[string, Uint8Array, string]>([
  ['a file that is cut off', excelFile({ rows: cells(1) }).subarray(0, 700), 'damaged'],
  ['a zip of something else', excelFile({ only: ['leads.csv'] }), 'unpack it'],
  ['no XML', excelFile({ rows: '<row' }), 'damaged'],
  ['a text that is not there', excelFile({ rows: '<row><c t="s"><v>9</v></c></row>' }), 'damaged'],
  ['a column beyond the last', excelFile({ rows: '<row><c r="ZZZ1"/></row>' }), 'damaged'],
  ['nesting without an end', excelFile({ rows: '<a>'.repeat(1_000) }), 'damaged'],
  [
    'a cell without an end',
    excelFile({ rows: `<row><c t="str"><v>${'a'.repeat(3 * 2 ** 20)}</v></c></row>` }),
    'damaged',
  ],
  [
    'more texts than fit in memory',
    excelFile({ strings: [`<t>${' '.repeat(129 * 2 ** 20)}</t>`], rows: cells(1) }),
    'larger',
  ],
  [
    'more than it says',
    excelFile({ rows: `<row>${cells(100_000)}</row>`, understated: true }),
    'damaged',
  ],
])('%s is a sentence and bounded work', async (_, bytes, said) => {
  const failing = opened(bytes).then(rowsOf);
  await expect(failing).rejects.toThrow(UnreadableInput);
  await expect(failing).rejects.toThrow(said);
});

test('a hundred thousand cells far to the right are no more than what stands in them', async () => {
  const row = '<row><c r="XFD1" t="str"><v>a</v></c></row>';
  const workbook = await opened(excelFile({ rows: row.repeat(100_000) }));
  let count = 0;
  for await (const { cells } of workbook.rows()) count += Object.keys(cells).length;
  expect(count).toBe(100_000);
});
