import { createHash } from 'node:crypto';

/**
 * A submission id that follows from what it is derived from: the same again gives the same id, so
 * that doing it twice changes nothing. Laid out as a UUIDv7 (RFC 9562) of that time, milliseconds
 * since 1970, because submissions are listed and partitioned by their ids; its other 74 bits are of
 * a SHA-256 instead of chance.
 */
export function derivedId(timeMs: number, parts: readonly string[]): string {
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  const time = Math.max(0, Math.floor(timeMs)).toString(16).padStart(12, '0').slice(-12);
  const variant = (8 + (parseInt(digest.slice(3, 4), 16) & 3)).toString(16);
  return [
    time.slice(0, 8),
    time.slice(8),
    `7${digest.slice(0, 3)}`,
    `${variant}${digest.slice(4, 7)}`,
    digest.slice(7, 19),
  ].join('-');
}

/** The milliseconds since 1970 that a UUIDv7 begins with. */
export function timeOfId(id: string): number {
  return parseInt(id.replaceAll('-', '').slice(0, 12), 16);
}
