import type { Lead, Note } from '@leadgate/contract';
import { isPlaceholder, phoneKey } from './phone-key.ts';
import { isInternational } from './telephone.ts';

export interface IdentityOptions {
  /** ISO 3166-1 alpha-2, upper case. */
  country: string;
  /** Phones (E.164) that identify nobody, besides those of one repeated digit. */
  dummyPhones: readonly string[];
  /**
   * Whether the telephone was sent with a + before it. A lead does not remember; without it, the
   * digits of a foreign number may be read as one of `country`.
   */
  international?: boolean;
}

/**
 * The keys by which a lead is known again: `email:<normal form>`, then `phone:<E.164>` (or
 * `phone:<digits>` where they are no valid number). A placeholder phone is no key and is noted.
 */
export function identityKeys(
  lead: Lead,
  options: IdentityOptions,
): { keys: string[]; notes: Note[] } {
  const keys: string[] = [];
  const notes: Note[] = [];
  if (lead.email !== undefined) keys.push(`email:${lead.email}`);
  if (lead.telephone !== undefined) {
    const { country, dummyPhones, international = false } = options;
    const phone = phoneKey(lead.telephone, { country, international });
    if (isPlaceholder(phone) || isListed(phone, dummyPhones, country))
      notes.push({ field: '/telephone', code: 'dummy-phone' });
    else keys.push(`phone:${phone}`);
  }
  return { keys, notes };
}

/** By the list, which lives as long as its link is cached. */
const listedKeys = new WeakMap<readonly string[], { country: string; keys: Set<string> }>();

/** Whether a phone is on a list, in whatever form an operator wrote it there. */
function isListed(phone: string, list: readonly string[], country: string): boolean {
  if (list.length === 0) return false;
  let listed = listedKeys.get(list);
  if (listed?.country !== country) {
    const keyOf = (entry: string) =>
      phoneKey(entry.replace(/\D+/g, ''), { country, international: isInternational(entry) });
    listed = { country, keys: new Set(list.map(keyOf)) };
    listedKeys.set(list, listed);
  }
  return listed.keys.has(phone);
}
