import { hash } from 'node:crypto';

/** Where a workspace keeps an identity: no email or phone stands in Redis in clear. */
export interface IdentityRef {
  /** The first 16 bits of the digest, in hexadecimal: which hash. */
  bucket: string;
  /** The other 112, in base64url (19 characters): which field of it. */
  field: string;
}

/**
 * Many small hashes cost a third of one large one: Redis keeps a hash of a few hundred short fields as
 * a packed list. 128 bits of SHA-256 do not collide at any number of identities.
 */
export function identityRef(key: string): IdentityRef {
  const digest = hash('sha256', key, 'buffer');
  return { bucket: digest.toString('hex', 0, 2), field: digest.toString('base64url', 2, 16) };
}

/** 128 bits of SHA-256 over the parts, in base64url (22 characters). */
export function shortDigest(...parts: string[]): string {
  return hash('sha256', parts.join('\0'), 'buffer').toString('base64url', 0, 16);
}
