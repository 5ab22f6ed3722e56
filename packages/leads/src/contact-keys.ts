import { normalizeLead } from './normalize-lead.ts';

/** An email or telephone as leads hold it, and what identifies it in each workspace. */
export interface ContactKeys {
  email?: string;
  telephone?: string;
  identities: { workspaceId: string; key: string }[];
}

/**
 * What to look for to find the leads of an email or a telephone, as somebody typed it: the country
 * of each workspace decides how a phone is read. Null where it is no whole email or telephone.
 * `today`: YYYY-MM-DD.
 */
export function contactKeys(
  contact: { email: string } | { telephone: string },
  workspaces: readonly { id: string; country: string }[],
  today: string,
): ContactKeys | null {
  let found: ContactKeys | null = null;
  for (const { id: workspaceId, country } of workspaces) {
    const read = normalizeLead(contact, { mode: 'strict', country, dummyPhones: [], today });
    if (read.kind === 'refused') return null;
    const { email, telephone } = read.lead;
    if (email === undefined && telephone === undefined) return null;
    found ??= {
      ...(email !== undefined && { email }),
      ...(telephone !== undefined && { telephone }),
      identities: [],
    };
    found.identities.push(...read.identities.map((key) => ({ workspaceId, key })));
  }
  return found;
}
