import { createHash, randomBytes } from 'node:crypto';

/** 256 random bits, for URLs and headers. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** How a secret of random bits is stored: there is nothing to guess, so nothing to slow down. */
export function secretHash(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(secret).digest());
}

/** Crockford's base 32: no I, L, O, U. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Groups of four of 20 random bits each, to be read off a terminal and typed: `7K3D-…`. */
export function typedSecret(groups: number): string {
  return Array.from({ length: groups }, () =>
    [...randomBytes(4)].map((byte) => ALPHABET[byte % 32]).join(''),
  ).join('-');
}

/** A typed secret as it was given out, whatever case, blanks and look-alikes it was typed with. */
export function readTypedSecret(text: string): string {
  const letters = text
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, '')
    .replace(/O/g, '0')
    .replace(/[IL]/g, '1');
  return letters.match(/.{1,4}/g)?.join('-') ?? '';
}
