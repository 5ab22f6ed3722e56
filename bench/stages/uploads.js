import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { createGzip } from 'node:zlib';
import { strToU8, zipSync } from 'fflate';
import { request } from 'undici';
import { atMost } from '../figures.js';
import { emailOf, phoneOf } from '../people.js';
import { here } from '../processes.js';
import { startConsole, startWorker } from './bench.js';

/** @typedef {import('./bench.js').Bench} Bench */
/** @typedef {{ cpuMs: number, rssMiB: number, liveMiB: number }} Slices */

/** Milliseconds for which an upload may hold the console's event loop. */
const AT_MOST = 50;

const slices = pathToFileURL(here('services/slices.js')).href;

/**
 * Uploads to a console as it runs in production, honest ones and those that were made to hold it up, each
 * with how much CPU the thread took at most before it turned to anything else, and with its memory.
 * @param {Bench} bench
 */
export async function measure(bench) {
  const { plan, leadgate, say } = bench;
  const { database } = leadgate;
  const folder = mkdtempSync(join(tmpdir(), 'leadgate-uploads-'));
  const file = join(folder, 'slices');
  const worker = await startWorker(bench);
  const app = await startConsole(bench, {
    role: 'operator',
    flags: ['--import', `${slices}?${new URLSearchParams({ to: file }).toString()}`],
  });
  const lines = () => (existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []);
  /** What was seen since it was asked last. @returns {Promise<Slices>} */
  const seen = async () => {
    const before = lines().length;
    process.kill(app.pid, 'SIGUSR2');
    while (lines().length === before) await delay(10);
    return JSON.parse(lines().at(-1) ?? '');
  };
  /** @param {Readable} body @param {boolean} dryRun */
  const upload = async (body, dryRun) => {
    const answer = await request(
      `${app.url}/api/imports?linkId=${database.linkId}&lenient=true&dryRun=${dryRun.toString()}`,
      {
        ...{ method: 'POST', body, headersTimeout: 0, bodyTimeout: 0 },
        headers: {
          authorization: `Bearer ${app.token}`,
          'content-type': 'application/octet-stream',
        },
      },
    );
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode.toString()} ${text}`);
    const { result, error } = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '');
    return String(error ?? `${String(result.imported)} rows, ${String(result.refused)} refused`);
  };
  try {
    const { rows, taken } = plan.uploads;
    /** @type {(Slices & { name: string })[]} */
    const figures = [];
    // The first finds code that was not run yet.
    await upload(Readable.from(csv(1_000)), true);
    for (const [name, pieces] of Object.entries(uploads(rows, taken))) {
      await seen();
      const answer = await upload(Readable.from(pieces), !name.endsWith(', taken'));
      const one = { name, ...(await seen()) };
      figures.push(one);
      // Told only if Node collected all of its garbage meanwhile.
      const live = one.liveMiB > 0 ? `, live ${one.liveMiB.toFixed(0)}` : '';
      say(
        `  ${name}: ${one.cpuMs.toFixed(0)} ms, ${one.rssMiB.toFixed(0)} MiB${live} (${answer.slice(0, 60)})`,
      );
    }
    const longest = Math.max(...figures.map(({ cpuMs }) => cpuMs));
    say(`  longest ${longest.toFixed(0)} ms of CPU (${atMost(longest, AT_MOST)})`);
    return { rows, longest, atMost: AT_MOST, figures };
  } finally {
    await app.stop();
    await worker.stop();
    rmSync(folder, { recursive: true });
  }
}

/**
 * What people send, and what is made to take long; what is not said to be taken is only checked.
 * @param {number} rows
 * @param {number} taken
 */
function uploads(rows, taken) {
  const keys = (/** @type {number} */ i) =>
    `{"email":"${emailOf(i)}","key${i.toString()}":"a value of its own"}`;
  const lead = (/** @type {number} */ i) =>
    `{"name":"Maria ${i.toString()}","email":"${emailOf(i)}","telephone":"${phoneOf(i)}"}`;
  const wide = Array.from({ length: 2_000 }, (_, i) => i);
  const columns = (/** @type {string} */ name) => wide.map((i) => `${name}${i.toString()}`).join();
  const cells = `${wide.join()}\n`;
  const deep = '{"a":'.repeat(10_000);
  const text = (/** @type {string} */ cell) => `<c t="inlineStr"><is><t>${cell}</t></is></c>`;
  const size = rows * 200;
  const large = (/** @type {number} */ i) =>
    `{"email":"large${emailOf(i)}","customFields":{"plano":"${'x'.repeat(60_000)}"}}\n`;
  const manyKeys = (/** @type {number} */ i) =>
    `{${wide.map((key) => `"customFields.k${key.toString()}":${i.toString()}`).join()}}\n`;
  const birthdays = wide.slice(1).map(() => 'birthday');
  const lines = 'b@example.com,x\n'.repeat(2_500);
  const marks = '\u0301\u0323'.repeat(2_500);
  /** @param {string} head @param {(i: number) => string} piece @param {number} [pieces] */
  const headed = (head, piece, pieces = size / 10_000) =>
    each(pieces, (i) => (i === 0 ? head : piece(i)));
  /** @param {(i: number) => string} piece @param {number} [pieces] */
  const people = (piece, pieces) => headed('email,name\n', piece, pieces);
  return {
    CSV: csv(rows),
    'CSV, gzip': gzip(csv(rows)),
    'JSON array in one line': array(rows, lead),
    'JSON array in one line, gzip': gzip(array(rows, lead)),
    NDJSON: each(rows, (i) => `${lead(i)}\n`),
    'NDJSON, gzip': gzip(each(rows, (i) => `${lead(i)}\n`)),
    xlsx: xlsx(rows, (i) =>
      i === 0 ? text('email') + text('name') : `<c t="s"><v>${i}</v></c>${text('Maria')}`,
    ),
    'xlsx of 2,000 columns': xlsx(rows / 1_000, () => wide.map((i) => text(`c${i}`)).join('')),
    'xlsx of a cell without end': xlsx(2, () => text('x'.repeat(size / 10))),
    'CSV, taken': csv(taken, 30_000_000),
    'NDJSON of the largest rows, taken': each(taken / 20, large),
    'distinct keys': array(rows, keys),
    'distinct keys, gzip': gzip(array(rows, keys)),
    'CSV of 2,000 columns': headed(`${columns('c')}\n`, () => cells, rows / 100),
    'CSV of 2,000 custom fields': headed(
      `${columns('customFields.c')}\n`,
      () => cells,
      rows / 1_000,
    ),
    'CSV of 2,000 columns of dates': headed(
      `email,${birthdays.join()}\n`,
      () => `${wide.map(() => '01/02/1990').join()}\n`,
      rows / 1_000,
    ),
    'CSV of a cell without end': headed('email,name\na@example.com,"', () => 'x'.repeat(10_000)),
    'CSV of cells of lines': people(() => `a@example.com,"${lines}"\n`, size / 40_000),
    'CSV of quotes': people(() => '"'.repeat(9_999)),
    'CSV of quotes left open': people(() => 'a,"b\n'.repeat(2_000)),
    'CSV of marks': people((i) => `${emailOf(i)},Jo${marks}\n`),
    'CSV of empty lines': people(() => '\n'.repeat(10_000)),
    'CSV of delimiters': people(() => ','.repeat(10_000)),
    'JSON array of commas': headed('[', () => ','.repeat(10_000), size / 40_000),
    'JSON of a string without end': headed('[{"a":"', () => 'x'.repeat(10_000)),
    'NDJSON of a line without end': headed('{"a":"', () => 'x'.repeat(10_000)),
    'NDJSON of empty lines': headed('{"a":1}', () => '\n'.repeat(10_000)),
    'NDJSON of many keys': each(rows / 1_000, manyKeys),
    'nested deep, lines': each(rows / 1_000, () => `${deep}1${'}'.repeat(10_000)}\n`),
    'nested deep, array': each(size / 10_000, () => '['.repeat(10_000)),
    'spaces, gzip': gzip(each(size / 10_000, () => ' '.repeat(10_000))),
    'random bytes': each(size / 10_000, (i) => Buffer.alloc(10_000, i + 32)),
  };
}

/** @param {number} rows @param {(i: number) => string | Buffer} piece */
function* each(rows, piece) {
  for (let i = 0; i < rows; i++) yield piece(i);
}

/** @param {number} rows @param {number} [first] */
const csv = (rows, first = 0) =>
  each(rows + 1, (i) =>
    i === 0
      ? 'name,email,telephone,created_time\n'
      : `Maria ${i.toString()},${emailOf(first + i)},${phoneOf(first + i)},2026-11-${(10 + (i % 20)).toString()} 10:00\n`,
  );

/** @param {number} rows @param {(i: number) => string} element */
const array = (rows, element) =>
  each(rows, (i) => `${i === 0 ? '[' : ','}${element(i)}${i === rows - 1 ? ']' : ''}`);

/** @param {Iterable<string | Buffer>} pieces */
const gzip = (pieces) => Readable.from(pieces, { objectMode: false }).pipe(createGzip());

const XML = 'http://schemas.openxmlformats.org';
const OFFICE = `${XML}/officeDocument/2006/relationships`;

/** @param {number} rows @param {(i: number) => string} cells of a row, below a head */
function* xlsx(rows, cells) {
  const relations = (/** @type {Record<string, string>} */ targets) =>
    `<Relationships xmlns="${XML}/package/2006/relationships">${Object.entries(targets)
      .map(([kind, to], i) => `<Relationship Id="r${i}" Type="${OFFICE}/${kind}" Target="${to}"/>`)
      .join('')}</Relationships>`;
  const sheet = each(rows, (i) => `<row>${cells(i)}</row>`);
  const parts = {
    '[Content_Types].xml': '<Types/>',
    '_rels/.rels': relations({ officeDocument: 'xl/workbook.xml' }),
    'xl/workbook.xml': `<workbook xmlns:r="${OFFICE}"><sheets><sheet name="a" r:id="r0"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relations({ worksheet: 'a.xml', sharedStrings: 'strings.xml' }),
    'xl/a.xml': `<worksheet><sheetData>${[...sheet].join('')}</sheetData></worksheet>`,
    'xl/strings.xml': `<sst>${[...each(rows, (i) => `<si><t>${emailOf(i)}</t></si>`)].join('')}</sst>`,
  };
  const files = Object.entries(parts).map(([path, text]) => [path, strToU8(text)]);
  yield Buffer.from(zipSync(Object.fromEntries(files), { level: 1 }));
}
