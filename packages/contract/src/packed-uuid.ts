const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;
/** Characters of a packed UUID, and of a short digest. */
export const PACKED_LENGTH = 22;

/**
 * A UUID (lower case) in base64url: 22 characters, where Redis holds millions of them. Throws a
 * TypeError on another text.
 */
export function packUuid(uuid: string): string {
  if (!UUID.test(uuid)) throw new TypeError('not a UUID');
  return Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('base64url');
}

export function unpackUuid(packed: string): string {
  const hex = Buffer.from(packed, 'base64url').toString('hex');
  if (hex.length !== 32) throw new TypeError('not a packed UUID');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
