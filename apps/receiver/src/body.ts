import { Busboy, type BusboyHeaders } from '@fastify/busboy';
import type { BodyType, FieldError, Note } from '@leadgate/contract';
import { BODY_KEY, canonicalJson, type Charset, decodeText, jsonPointer } from '@leadgate/leads';
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** How a body is to be read. `unsaid`: it does not tell its type, as some beacons do not. */
export interface MediaType {
  format: BodyType | 'multipart' | 'unsaid';
  /** Undefined if it is not said. */
  charset: Charset | undefined;
}

const FORMATS = new Map<string, MediaType['format']>([
  ['application/json', 'json'],
  // JSON of beacons and of fetches that avoid a preflight.
  ['text/plain', 'json'],
  ['application/x-www-form-urlencoded', 'form'],
  ['multipart/form-data', 'multipart'],
  ['', 'unsaid'],
]);

const CHARSETS = new Map<string, Charset>([
  ['utf-8', 'utf-8'],
  ['utf8', 'utf-8'],
  ['us-ascii', 'utf-8'],
  ['iso-8859-1', 'windows-1252'],
  ['iso8859-1', 'windows-1252'],
  ['latin1', 'windows-1252'],
  ['windows-1252', 'windows-1252'],
  ['cp1252', 'windows-1252'],
  ['utf-16', 'utf-16'],
  ['utf-16le', 'utf-16'],
  ['utf-16be', 'utf-16'],
]);

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)"?/i;
const BOUNDARY = /;\s*boundary\s*=\s*[^;\s]/i;

/**
 * How a body is to be read by its Content-Type and Content-Encoding; null if it cannot be: another
 * media type, a charset that is not known, or a compressed body.
 */
export function readMediaType(
  headers: Pick<IncomingHttpHeaders, 'content-type' | 'content-encoding'>,
): MediaType | null {
  const encoding = headers['content-encoding']?.trim().toLowerCase();
  if (encoding && encoding !== 'identity') return null;
  const contentType = headers['content-type'] ?? '';
  const said = CHARSET.exec(contentType)?.[1]?.toLowerCase();
  const charset = said ? CHARSETS.get(said) : undefined;
  if (said && charset === undefined) return null;
  const [mediaType = ''] = contentType.split(';', 1);
  const format = FORMATS.get(mediaType.trim().toLowerCase());
  if (format === undefined || (format === 'multipart' && !BOUNDARY.test(contentType))) return null;
  return { format, charset };
}

export const BODY_LIMIT_BYTES = 64 * 1024;
/** Of a form with files, which are read and dropped. */
const FILES_LIMIT_BYTES = 10 * 1024 * 1024;

/**
 * How much of a body that is too large is read and dropped. A sender that is still sending when the
 * connection closes sees a reset and never the 413.
 */
const DROPPED_BYTES = 1024 * 1024;

/** A form may have one field more than is taken, which tells that it has too many. */
const MULTIPART_LIMITS = { fieldNameSize: 1_000, fieldSize: BODY_LIMIT_BYTES, fields: 1_001 };

/** So many files of a form are noted at most. */
const NOTED_FILES = 10;

/** A body as text, as it is kept. */
export interface BodyText {
  kind: 'read';
  text: string;
  type: BodyType;
  notes: Note[];
  /** As they came, which is what a signature is of; not of a multipart form. */
  bytes?: Buffer;
}

export type ReceivedBody =
  | BodyText
  /** `drained`: the whole body has been read, so that the connection can go on. */
  | { kind: 'too-large'; drained: boolean }
  | { kind: 'malformed-form' };

/**
 * Reads a body of up to 64 KiB, with or without a declared length. Files of a multipart form do not
 * count, up to 10 MiB: they are dropped as they come. Rejects when the sender goes away before its end.
 */
export async function receiveBody(
  payload: IncomingMessage,
  { format, charset }: MediaType,
): Promise<ReceivedBody> {
  if (format === 'multipart') return receiveForm(payload, charset);
  const declaredBytes = Number(payload.headers['content-length'] ?? 0);
  if (declaredBytes > BODY_LIMIT_BYTES + DROPPED_BYTES)
    return { kind: 'too-large', drained: false };
  const chunks: Buffer[] = [];
  let length = 0;
  const drained = await readChunks(payload, BODY_LIMIT_BYTES + DROPPED_BYTES, (chunk) => {
    length += chunk.length;
    if (length <= BODY_LIMIT_BYTES) chunks.push(chunk);
    else chunks.length = 0;
  });
  if (length > BODY_LIMIT_BYTES) return { kind: 'too-large', drained };
  const [first = NO_BYTES, ...others] = chunks;
  const bytes = others.length === 0 ? first : Buffer.concat(chunks, length);
  const { text, notes } = decodeText(bytes, charset);
  const type = format === 'unsaid' ? (/^\s*[{[]/.test(text) ? 'json' : 'form') : format;
  return { kind: 'read', text, type, notes, bytes };
}

const NO_BYTES = Buffer.alloc(0);

/** A multipart form as the urlencoded form of the same fields. */
async function receiveForm(
  payload: IncomingMessage,
  charset: Charset | undefined,
): Promise<ReceivedBody> {
  const fields = new URLSearchParams();
  const notes: Note[] = [];
  let size = 0;
  let isWhole = true;
  // Bytes as latin-1, so that what they are is found for all forms in one way.
  const parser = new Busboy({
    headers: payload.headers as BusboyHeaders,
    defCharset: 'latin1',
    limits: MULTIPART_LIMITS,
  });
  parser.on('field', (name, sent, _nameTruncated, valueTruncated) => {
    // The parser gives none if a part has no name.
    if (!name) return;
    const decoded = decodePart(sent, charset);
    size += name.length + decoded.text.length;
    if (valueTruncated) size = Infinity;
    // One that goes on beyond the limit is read to its end, and not kept.
    if (size <= BODY_LIMIT_BYTES) fields.append(name, decoded.text);
    if (notes.length === 0) notes.push(...decoded.notes);
  });
  const files = new Set<string>();
  parser.on('file', (name, file, filename) => {
    // An input that was left empty is sent as a file without a name.
    if (name && filename) files.add(name);
    file.resume();
  });
  parser.on('error', () => (isWhole = false));
  const finished = new Promise<void>((resolve) => {
    parser.once('finish', resolve).once('error', () => resolve());
  });
  const drained = await readChunks(payload, FILES_LIMIT_BYTES, (chunk) => {
    if (isWhole) parser.write(chunk);
  });
  if (!drained) return { kind: 'too-large', drained };
  parser.end();
  await finished;
  if (!isWhole) return { kind: 'malformed-form' };
  const text = fields.toString();
  if (size > BODY_LIMIT_BYTES || text.length > BODY_LIMIT_BYTES)
    return { kind: 'too-large', drained };
  for (const name of [...files].slice(0, NOTED_FILES))
    notes.push({ field: jsonPointer(name), code: 'file-dropped' });
  return { kind: 'read', text, type: 'form', notes };
}

/** A part that says its own charset has been decoded, which shows in characters beyond a byte. */
function decodePart(sent: string, charset: Charset | undefined): { text: string; notes: Note[] } {
  // eslint-disable-next-line no-control-regex -- bytes as characters
  if (!/^[\u0000-\u00ff]*$/.test(sent)) return { text: sent, notes: [] };
  return decodeText(Buffer.from(sent, 'latin1'), charset);
}

/** Whether all of it was read: what is longer than `limit` is left where it is. */
function readChunks(
  payload: IncomingMessage,
  limit: number,
  take: (chunk: Buffer) => void,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let length = 0;
    const settle = (isAll: boolean): void => {
      payload.off('data', onData).off('end', onEnd).off('error', reject);
      resolve(isAll);
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length <= limit) return take(chunk);
      payload.pause();
      settle(false);
    };
    const onEnd = (): void => settle(true);
    payload.on('data', onData).on('end', onEnd).on('error', reject);
  });
}

type IdempotencyKey =
  { kind: 'none' } | { kind: 'key'; key: string } | { kind: 'invalid'; error: FieldError };

/**
 * Takes the idempotency key off a post: the header's, else the body's. Returns the key, and the
 * body without it, so that a fetch with the header and a beacon with the field are the same post.
 */
export function takeIdempotencyKey(
  header: string | undefined,
  body: unknown,
): { key: IdempotencyKey; body: unknown } {
  if (!hasBodyKey(body)) return { key: check(header, HEADER), body };
  const { [BODY_KEY]: inBody, ...rest } = body;
  const key = header?.trim() ? check(header, HEADER) : check(inBody, FIELD);
  return { key, body: rest };
}

// A header has no place in the body: the pointer is to the whole of it, and the detail names it.
const HEADER = { pointer: '', name: 'The header Idempotency-Key' };
const FIELD = { pointer: `/${BODY_KEY}`, name: `The field ${BODY_KEY}` };

function hasBodyKey(body: unknown): body is Record<string, unknown> {
  return (
    typeof body === 'object' &&
    body !== null &&
    !Array.isArray(body) &&
    Object.hasOwn(body, BODY_KEY)
  );
}

function check(value: unknown, where: { pointer: string; name: string }): IdempotencyKey {
  if (value === undefined || value === null) return { kind: 'none' };
  const key = typeof value === 'string' ? value.trim() : value;
  if (key === '') return { kind: 'none' };
  if (typeof key === 'string' && /^[\x20-\x7e]{1,255}$/.test(key)) return { kind: 'key', key };
  return {
    kind: 'invalid',
    error: {
      pointer: where.pointer,
      code: 'invalid-idempotency-key',
      detail: `${where.name} must be a text of 1 to 255 printable ASCII characters.`,
    },
  };
}

/**
 * A hash that is equal for equal bodies, however their keys are ordered and their text is spaced.
 * SHA-256, base64url. A body too deep to be written out is known by its text.
 */
export function hashBody(body: unknown, text: string): string {
  return hash('sha256', canonicalJson(body) ?? text, 'base64url');
}
