import { crc32 } from 'node:zlib';
import { decodeApplyJob, encodeApplyJob, type Submission } from '@leadgate/contract';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';

/** A submission that was answered 202 and that Redis does not have, or perhaps does not have. */
export interface SpooledSubmission {
  /**
   * As reserved. Where it is not reserved, as if nobody had been known: of the offered lead, which
   * owns every key, and ordered by the receiver's clock.
   */
  submission: Submission;
  reserved: boolean;
  idempotency?: { key: string; bodyHash: string };
}

const RecordV1 = Type.Object({
  v: Type.Literal(1),
  r: Type.Union([Type.Literal(0), Type.Literal(1)], { description: 'reserved' }),
  k: Type.Optional(
    Type.Tuple([Type.String(), Type.String()], { description: 'idempotency: key, hash of body' }),
  ),
  j: Type.Unknown({ description: 'the submission, as an apply job' }),
});
const compiled = Compile(RecordV1);

/**
 * A record on disk: this mark, the bytes of its text and their CRC-32 (each 4 bytes, big-endian),
 * then the text, a RecordV1 as JSON. So it is whole in itself: it can be found in the file, and
 * believed, when the pages around it cannot be read any more.
 */
export const RECORD_MARK = Buffer.from('LGR1');
const HEADER_BYTES = 12;
/** Larger than any: a body is at most 64 KiB. */
const LARGEST_TEXT = 2 ** 20;

export function encodeSpooled({ submission, reserved, idempotency }: SpooledSubmission): Buffer {
  const text = JSON.stringify({
    v: 1,
    r: reserved ? 1 : 0,
    ...(idempotency && { k: [idempotency.key, idempotency.bodyHash] }),
    j: encodeApplyJob(submission),
  });
  const length = Buffer.byteLength(text);
  const record = Buffer.allocUnsafe(HEADER_BYTES + length);
  RECORD_MARK.copy(record);
  record.writeUInt32BE(length, 4);
  record.write(text, HEADER_BYTES);
  record.writeUInt32BE(crc32(record.subarray(HEADER_BYTES)), 8);
  return record;
}

/**
 * The submission of the record that these bytes begin with; null where there is none, or it is
 * damaged, or of an unknown version.
 */
export function decodeSpooled(bytes: Buffer): SpooledSubmission | null {
  if (bytes.length < HEADER_BYTES || !bytes.subarray(0, 4).equals(RECORD_MARK)) return null;
  const length = bytes.readUInt32BE(4);
  if (length > LARGEST_TEXT || HEADER_BYTES + length > bytes.length) return null;
  const text = bytes.subarray(HEADER_BYTES, HEADER_BYTES + length);
  if (crc32(text) !== bytes.readUInt32BE(8)) return null;
  try {
    const value: unknown = JSON.parse(text.toString());
    if (!compiled.Check(value)) return null;
    return {
      submission: decodeApplyJob(value.j),
      reserved: value.r === 1,
      ...(value.k && { idempotency: { key: value.k[0], bodyHash: value.k[1] } }),
    };
  } catch {
    return null;
  }
}
