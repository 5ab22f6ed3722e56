import type { Lead } from '@leadgate/contract';
import { normalizeLead } from '@leadgate/leads';
import { isUuid, type LeadSearch, type Workspace } from '@leadgate/store';
import { EXIT, Failure } from './failure.ts';
import { showable } from './print/showable.ts';

/** Looks for an email as the receiver would read it. A Failure where it is none. */
export function searchByEmail(email: string, workspaces: readonly Workspace[]): LeadSearch {
  const search = searchByLead({ email }, workspaces);
  if (search !== null) return search;
  throw new Failure(
    `"${showable(email)}" is not a whole email; leadgate lead find TEXT looks for a part of one.`,
    EXIT.usage,
  );
}

/** Looks for a telephone, in any of its spellings in the country of each workspace. */
export function searchByTelephone(telephone: string, workspaces: readonly Workspace[]): LeadSearch {
  const search = searchByLead({ telephone }, workspaces);
  if (search !== null) return search;
  throw new Failure(
    `"${showable(telephone)}" is not a whole phone (8 to 15 digits); leadgate lead find DIGITS looks for a part of one.`,
    EXIT.usage,
  );
}

/** Looks for a text that may be an id, an email, a phone, or a part of a name, email or phone. */
export function searchByText(text: string, workspaces: readonly Workspace[]): LeadSearch {
  const trimmed = text.trim();
  if (isUuid(trimmed)) return { leadId: trimmed };
  const whole =
    searchByLead({ email: trimmed }, workspaces) ??
    searchByLead({ telephone: trimmed }, workspaces);
  const digits = trimmed.replace(/[\s().+-]/g, '');
  return {
    ...whole,
    ...(!/\s/.test(trimmed) && { emailPart: trimmed }),
    ...(/^\d{4,15}$/.test(digits) && { telephonePart: digits }),
    name: trimmed,
  };
}

/**
 * The search for one email or telephone: its identity in each workspace, whose country decides how
 * a phone is read, and the value as leads hold it. Null where it is no email or telephone.
 */
function searchByLead(
  body: { email: string } | { telephone: string },
  workspaces: readonly Workspace[],
): LeadSearch | null {
  const today = new Date().toISOString().slice(0, 10);
  const identities: { workspaceId: string; key: string }[] = [];
  let lead: Lead | null = null;
  for (const { id: workspaceId, country } of workspaces) {
    const read = normalizeLead(body, { mode: 'strict', country, dummyPhones: [], today });
    if (read.kind === 'refused') return null;
    lead = read.lead;
    identities.push(...read.identities.map((key) => ({ workspaceId, key })));
  }
  if (lead === null) return workspaces.length === 0 ? {} : null;
  const { email, telephone } = lead;
  if (email === undefined && telephone === undefined) return null;
  return {
    identities,
    ...(email !== undefined && { email }),
    ...(telephone !== undefined && { telephone }),
  };
}
