import { crc32 } from 'node:zlib';
import { decodeSubmission, encodeSubmission, type Submission } from '@leadgate/contract';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';

/** A submission that was answered 202 and that Redis does not have, or perhaps does not have. */
export interface SpooledSubmission {
  /**
   * As reserved. If it is not reserved, as if nobody had been known: of the offered lead, which
   * owns every key, and ordered by the receiver's clock.
   */
  submission: Submission;
  reserved: boolean;
  idempotency?: { key: string; bodyHash: string };
}

const PayloadV1 = Type.Object({
  v: Type.Literal(1),
  r: Type.Union([Type.Literal(0), Type.Literal(1)], { description: 'reserved' }),
  k: Type.Optional(
    Type.Tuple([Type.String(), Type.String()], { description: 'idempotency: key, hash of body' }),
  ),
  j: Type.Unknown({ description: 'the submission, as an apply job' }),
});
const compiled = Compile(PayloadV1);

/**
 * A record on disk: this mark, the bytes of the payload, the payload's CRC-32 and the CRC-32 of these
 * twelve bytes (4 bytes each, big-endian), then the payload. The last tells a record whose end was never
 * written from one whose length is damaged. A header is found by its mark in whatever surrounds it, and
 * never in a payload: JSON has no zero byte, and the first byte of a length is zero.
 */
const MARK = Buffer.from('LGS1');
export const HEADER_BYTES = 16;
/** Larger than any lead: a body has at most 64 KiB. */
export const LARGEST_PAYLOAD = 2 ** 20;

/** Throws a RangeError on a payload that would not be read again. */
export function encodeRecord(payload: Buffer): Buffer {
  if (payload.length > LARGEST_PAYLOAD) throw new RangeError('a record of the spool is too large');
  const record = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  MARK.copy(record);
  record.writeUInt32BE(payload.length, 4);
  record.writeUInt32BE(crc32(payload), 8);
  record.writeUInt32BE(crc32(record.subarray(0, 12)), 12);
  payload.copy(record, HEADER_BYTES);
  return record;
}

/** The bytes of the whole record whose header stands at `at`; null if no undamaged header does. */
export function recordBytes(bytes: Buffer, at: number): number | null {
  if (at + HEADER_BYTES > bytes.length || !bytes.subarray(at, at + 4).equals(MARK)) return null;
  const length = bytes.readUInt32BE(at + 4);
  if (length > LARGEST_PAYLOAD) return null;
  if (crc32(bytes.subarray(at, at + 12)) !== bytes.readUInt32BE(at + 12)) return null;
  return HEADER_BYTES + length;
}

/** The payload of the record at `at`; null if it is not there whole and undamaged. */
export function payloadAt(bytes: Buffer, at: number): Buffer | null {
  const length = recordBytes(bytes, at);
  if (length === null || at + length > bytes.length) return null;
  const payload = bytes.subarray(at + HEADER_BYTES, at + length);
  return crc32(payload) === bytes.readUInt32BE(at + 8) ? payload : null;
}

/** Where the next undamaged header begins, from `at` on; -1 if there is none. */
export function nextRecord(bytes: Buffer, at: number): number {
  let found = bytes.indexOf(MARK, at);
  while (found !== -1 && recordBytes(bytes, found) === null) found = bytes.indexOf(MARK, found + 1);
  return found;
}

/** Throws a RangeError if it is too large. */
export function encodeSpooled({ submission, reserved, idempotency }: SpooledSubmission): Buffer {
  const text = JSON.stringify({
    v: 1,
    r: reserved ? 1 : 0,
    ...(idempotency && { k: [idempotency.key, idempotency.bodyHash] }),
    j: encodeSubmission(submission),
  });
  return encodeRecord(Buffer.from(text));
}

/**
 * The submission of the record that these bytes begin with; null if there is none, or it is damaged,
 * or of an unknown version.
 */
export function decodeSpooled(bytes: Buffer): SpooledSubmission | null {
  const payload = payloadAt(bytes, 0);
  return payload && decodePayload(payload);
}

export function decodePayload(payload: Buffer): SpooledSubmission | null {
  try {
    const value: unknown = JSON.parse(payload.toString());
    if (!compiled.Check(value)) return null;
    return {
      submission: decodeSubmission(value.j),
      reserved: value.r === 1,
      ...(value.k && { idempotency: { key: value.k[0], bodyHash: value.k[1] } }),
    };
  } catch {
    return null;
  }
}
