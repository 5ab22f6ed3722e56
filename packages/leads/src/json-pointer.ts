import { cutText, storable } from './clean-text.ts';

/**
 * A JSON pointer (RFC 6901) to a value by the keys that lead to it. Pointers are stored with notes
 * and answered with errors, and a sender chooses the keys: what cannot be stored shows as U+FFFD,
 * and a key longer than 200 characters is cut.
 */
export function jsonPointer(...keys: string[]): string {
  return keys.map((key) => `/${escaped(cutText(storable(key), 200))}`).join('');
}

function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
