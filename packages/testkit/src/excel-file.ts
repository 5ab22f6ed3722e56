import { strToU8, zipSync, type Zippable } from 'fflate';

export interface ExcelParts {
  /** The XML of rows, of every sheet. */
  rows?: string;
  /** The XML within each `<si>`. */
  strings?: readonly string[];
  /** Formats by style from 1 on: their codes, or the number of one that has no code. */
  formats?: readonly string[];
  sheets?: readonly { name: string; state?: string }[];
  is1904?: boolean;
  /** Nothing but empty files of these names. */
  only?: readonly string[];
  /** Sizes in the list of contents are those of empty files. */
  understated?: boolean;
}

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006/relationships';

const escaped = (text: string) =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

/** The bytes of an Excel file as Excel lays them out: sheets before the texts of their cells. */
export function excelFile({
  rows = '',
  strings = [],
  formats = [],
  sheets = [{ name: 'Planilha1' }],
  is1904 = false,
  only,
  understated = false,
}: ExcelParts): Uint8Array {
  if (only !== undefined)
    return zipSync(Object.fromEntries(only.map((name) => [name, new Uint8Array()])));
  const relations = (list: readonly (readonly [id: string, kind: string, target: string])[]) =>
    `<Relationships xmlns="${PACKAGE}">${list
      .map(
        ([id, kind, target]) =>
          `<Relationship Id="${id}" Type="${OFFICE}/${kind}" Target="${target}"/>`,
      )
      .join('')}</Relationships>`;
  const codes = formats.map((format, i) => ({
    id: /^\d\d$/.test(format) ? Number(format) : 164 + i,
    code: format,
  }));
  const parts: Record<string, string> = {
    '[Content_Types].xml': '<Types/>',
    '_rels/.rels': relations([['rId1', 'officeDocument', 'xl/workbook.xml']]),
    'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><workbookPr${is1904 ? ' date1904="1"' : ''}/><sheets>${sheets
      .map(
        ({ name, state }, i) =>
          `<sheet name="${escaped(name)}" sheetId="${i + 1}"${state === undefined ? '' : ` state="${state}"`} r:id="rId${i + 1}"/>`,
      )
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relations([
      ...sheets.map(
        (_, i) => [`rId${i + 1}`, 'worksheet', `worksheets/sheet${i + 1}.xml`] as const,
      ),
      ['rId100', 'styles', 'styles.xml'],
      ['rId101', 'sharedStrings', '/xl/sharedStrings.xml'],
    ]),
    ...Object.fromEntries(
      sheets.map((_, i) => [
        `xl/worksheets/sheet${i + 1}.xml`,
        `<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="${MAIN}"><sheetData>${rows}</sheetData></worksheet>`,
      ]),
    ),
    'xl/styles.xml': `<styleSheet xmlns="${MAIN}"><numFmts>${codes
      .map(({ id, code }) => `<numFmt numFmtId="${id}" formatCode="${escaped(code)}"/>`)
      .filter((_, i) => (codes[i]?.id ?? 0) >= 164)
      .join(
        '',
      )}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${codes
      .map(({ id }) => `<xf numFmtId="${id}"/>`)
      .join('')}</cellXfs></styleSheet>`,
    'xl/sharedStrings.xml': `<sst xmlns="${MAIN}">${strings.map((si) => `<si>${si}</si>`).join('')}</sst>`,
  };
  const files: Zippable = {};
  for (const [path, text] of Object.entries(parts)) files[path] = strToU8(text);
  const bytes = zipSync(files, { level: 1 });
  return understated ? withoutSizes(bytes) : bytes;
}

/** With the size of each unpacked file as nothing, in the list at the end and before each file. */
function withoutSizes(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + 46 < bytes.length; at += 1)
    if (view.getUint32(at, true) === 0x02014b50) view.setUint32(at + 24, 1_000, true);
  return bytes;
}
