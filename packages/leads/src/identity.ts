import type { CaptureLink, Lead, Note } from '@leadgate/contract';
import { isInternational, phoneClasses, phoneKey, readEmail, readTelephone } from './values.ts';

/** How a workspace reads telephones: its country, and those that identify nobody. */
export type PhoneRules = Pick<CaptureLink, 'country' | 'dummyPhones' | 'dummyClasses'>;

export interface IdentityOptions extends PhoneRules {
  /**
   * Whether the telephone was sent with a + before it. A lead does not remember; without it, the
   * digits of a foreign number may be read as one of `country`.
   */
  international?: boolean;
}

/**
 * The keys by which a lead is known again: `email:<normal form>`, then `phone:<E.164>` (or
 * `phone:<digits>` if they are no valid number). A phone of a class that no person has is noted, and
 * is a key all the same unless the workspace says otherwise; one that it lists is none.
 */
export function identityKeys(
  lead: Lead,
  options: IdentityOptions,
): { keys: string[]; notes: Note[] } {
  const keys: string[] = [];
  const notes: Note[] = [];
  if (lead.email !== undefined) keys.push(`email:${lead.email}`);
  if (lead.telephone !== undefined) {
    const { country, dummyPhones, dummyClasses = [], international = false } = options;
    const phone = phoneKey(lead.telephone, { country, international });
    const classes = phoneClasses(phone);
    if (classes.length > 0)
      notes.push({ field: '/telephone', code: 'placeholder-phone', detail: classes.join(', ') });
    const isDummy = classes.some((name) => dummyClasses.includes(name));
    if (isDummy || isListed(phone, dummyPhones, country))
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

/** What a phone is compared by under a country, in whatever form it is typed; null if it is none. */
export function phoneKeyOf(text: string, country: string): string | null {
  const digits = readTelephone(text);
  if (typeof digits !== 'string') return null;
  return phoneKey(digits, { country, international: isInternational(text) });
}

/** An email or telephone as leads hold it, and what identifies it in each workspace. */
export interface ContactKeys {
  email?: string;
  telephone?: string;
  identities: { workspaceId: string; key: string }[];
}

/**
 * What to look for to find the leads of an email or a telephone, as somebody typed it: the country
 * of each workspace decides how a phone is read. Null if it is no whole email or telephone.
 */
export function contactKeys(
  contact: { email: string } | { telephone: string },
  workspaces: readonly { id: string; country: string }[],
): ContactKeys | null {
  const isEmail = 'email' in contact;
  const text = isEmail ? readEmail(contact.email) : readTelephone(contact.telephone);
  if (typeof text !== 'string' || workspaces.length === 0) return null;
  const lead = isEmail ? { email: text } : { telephone: text };
  const international = !isEmail && isInternational(contact.telephone);
  const keysOf = (country: string) =>
    identityKeys(lead, { country, dummyPhones: [], international }).keys;
  return {
    ...lead,
    identities: workspaces.flatMap(({ id: workspaceId, country }) =>
      keysOf(country).map((key) => ({ workspaceId, key })),
    ),
  };
}
