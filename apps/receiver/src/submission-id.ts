import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

const BYTES_AN_ID = 16;

/** Asking for random bytes costs the same for one id and for these. */
const page = Buffer.alloc(256 * BYTES_AN_ID);
let used = page.length;

/** A new submission's id: UUIDv7 (RFC 9562). */
export function submissionId(): string {
  if (used === page.length) {
    randomFillSync(page);
    used = 0;
  }
  const random = page.subarray(used, used + BYTES_AN_ID);
  used += BYTES_AN_ID;
  return uuidv7({ random });
}
