import { INVISIBLE } from './clean-text.ts';
import { readText } from './read-text.ts';
import type { Reading } from './refusal.ts';

const PROFILE = /^(?:https?:\/\/)?(?:(?:www|m)\.)?instagram\.com(?:\/+(?:_u\/)?([^/?#]*)|$)/i;
/** First parts of an Instagram address that are no handle. */
const PAGES = new Set(['p', 'reel', 'reels', 'tv', 'explore', 'stories', 'accounts', 'direct']);

/**
 * An Instagram handle without @ and without the address of the profile around it. The address of a
 * post or a page says no handle and is kept as it is.
 */
export function readInstagram(value: unknown): Reading {
  const text = readText(value, undefined, INVISIBLE);
  if (typeof text !== 'string') return text;
  const address = PROFILE.exec(text);
  const handle = address === null ? text : (address[1] ?? '');
  if (PAGES.has(handle.toLowerCase()) && address !== null) return text;
  return handle.replace(/^[@\s]+/, '').trim() || undefined;
}
