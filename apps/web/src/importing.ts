import { useTranslations } from 'use-intl';
import { accepted, type Answer } from './api.ts';
import { addressOf } from './asked.ts';
import type { paths } from './generated/api.ts';
import type { Run } from './parts/run.tsx';

export type Preview = Answer<'/api/imports/preview', 'post'>;
export type PreviewQuery = paths['/api/imports/preview']['post']['parameters']['query'];
export type ImportQuery = paths['/api/imports']['post']['parameters']['query'];
export type ImportLine =
  paths['/api/imports']['post']['responses'][200]['content']['application/x-ndjson'];

/** Of a text: more than ten rows are long. */
const BEGINNING_BYTES = 256 * 1024;

/** What a preview needs of a file: all of it if it is packed, else its first lines. */
async function beginningOf(file: File): Promise<Blob> {
  if (file.size <= BEGINNING_BYTES) return file;
  const bytes = new Uint8Array(await file.slice(0, BEGINNING_BYTES).arrayBuffer());
  const begins = (...start: number[]) => start.every((byte, at) => bytes[at] === byte);
  if (begins(0x50, 0x4b) || begins(0x1f, 0x8b)) return file;
  // Two bytes a character, of which a line's end is no byte of its own.
  if (begins(0xff, 0xfe) || begins(0xfe, 0xff)) return new Blob([bytes]);
  const end = bytes.lastIndexOf(0x0a);
  return new Blob([end === -1 ? bytes : bytes.slice(0, end + 1)]);
}

function post(path: string, query: object, body: Blob): Promise<Response> {
  const headers = { 'content-type': 'application/octet-stream', accept: 'application/json' };
  return accepted(fetch(addressOf(path, query), { method: 'POST', headers, body }));
}

/** How a file would be read, with its first rows. Throws an ApiProblem. */
export async function previewFile(file: File, query: PreviewQuery): Promise<Preview> {
  const response = await post('/api/imports/preview', query, await beginningOf(file));
  return (await response.json()) as Preview;
}

/** Sends a file to be imported, and gives what is told of it, as it is told. Throws an ApiProblem. */
export async function* sendFile(file: File, query: ImportQuery): AsyncGenerator<ImportLine> {
  const { body } = await post('/api/imports', query, file);
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const lines = (rest + next.value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield JSON.parse(line) as ImportLine;
  }
}

/** An id of version 4; `crypto.randomUUID` is there over https only. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = [...bytes].map((byte, at) => {
    const fixed = at === 6 ? (byte & 0x0f) | 0x40 : at === 8 ? (byte & 0x3f) | 0x80 : byte;
    return fixed.toString(16).padStart(2, '0');
  });
  return hex.join('').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** The counts of an import in words. */
export function useImportCounts(): (run: Run) => string {
  const t = useTranslations('import');
  return ({ parameters, progress, state }) => {
    const count = (name: string) => progress[name] ?? 0;
    return [
      t(parameters['dryRun'] === true ? 'wouldTake' : 'took', { count: count('imported') }),
      ...(count('known') > 0 ? [t('known', { count: count('known') })] : []),
      ...(count('refused') > 0 ? [t('refused', { count: count('refused') })] : []),
      ...(state === 'running' && count('waiting') > 0 ? [t('waits')] : []),
    ].join(' · ');
  };
}
