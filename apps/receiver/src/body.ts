import type { Readable } from 'node:stream';
import type { BodyType } from '@leadgate/contract';

const BODY_TYPES = new Map<string, BodyType>([
  ['application/json', 'json'],
  // JSON of beacons and of fetches that avoid a preflight.
  ['text/plain', 'json'],
  ['application/x-www-form-urlencoded', 'form'],
]);

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)"?/i;

/**
 * How a body is to be read by its Content-Type and Content-Encoding; null where it cannot be:
 * another media type, a charset that is not UTF-8, or a compressed body.
 */
export function readMediaType(headers: {
  'content-type'?: string | undefined;
  'content-encoding'?: string | undefined;
}): BodyType | null {
  const encoding = headers['content-encoding']?.trim().toLowerCase();
  if (encoding && encoding !== 'identity') return null;
  const contentType = headers['content-type'];
  if (contentType === undefined) return null;
  const charset = CHARSET.exec(contentType)?.[1]?.toLowerCase();
  if (charset && charset !== 'utf-8' && charset !== 'utf8') return null;
  const end = contentType.indexOf(';');
  const mediaType = end === -1 ? contentType : contentType.slice(0, end);
  return BODY_TYPES.get(mediaType.trim().toLowerCase()) ?? null;
}

export const BODY_LIMIT_BYTES = 64 * 1024;

/**
 * How much of a body that is too large is read and dropped. A sender that is still sending when the
 * connection closes sees a reset and never the 413.
 */
const DROPPED_BYTES = 1024 * 1024;

export type RawBody =
  | { kind: 'read'; bytes: Buffer }
  /** `drained`: the whole body has been read, so that the connection can go on. */
  | { kind: 'too-large'; drained: boolean };

/**
 * Reads a body of up to 64 KiB, with or without a declared length. Rejects when the sender goes
 * away before its end.
 */
export function readBody(payload: Readable, declaredBytes: number): Promise<RawBody> {
  if (declaredBytes > BODY_LIMIT_BYTES + DROPPED_BYTES)
    return Promise.resolve({ kind: 'too-large', drained: false });
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let length = 0;
    const settle = (body: RawBody): void => {
      payload.off('data', onData).off('end', onEnd).off('error', reject);
      resolve(body);
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length <= BODY_LIMIT_BYTES) chunks.push(chunk);
      else chunks = [];
      if (length > BODY_LIMIT_BYTES + DROPPED_BYTES) {
        payload.pause();
        settle({ kind: 'too-large', drained: false });
      }
    };
    const onEnd = (): void =>
      settle(
        length > BODY_LIMIT_BYTES
          ? { kind: 'too-large', drained: true }
          : { kind: 'read', bytes: Buffer.concat(chunks, length) },
      );
    payload.on('data', onData).on('end', onEnd).on('error', reject);
  });
}
