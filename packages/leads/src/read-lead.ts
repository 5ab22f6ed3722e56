import type { CaptureLink, Consent, FieldError, Lead, Note } from '@leadgate/contract';
import type { PhoneRules } from './identity-keys.ts';
import { normalizeLead } from './normalize-lead.ts';

/** What of a capture link decides how a body is read. */
export type ReadingRules = PhoneRules & Pick<CaptureLink, 'mode' | 'requireIdentity'>;

export type LeadReading =
  | { kind: 'read'; lead: Lead; identities: string[]; notes: Note[]; consent?: Consent }
  | { kind: 'refused'; code: 'invalid-lead' | 'identity-required'; errors: FieldError[] };

/**
 * Reads a parsed body as the link that it came to says, whichever way it came: posted, imported, or
 * mended after it was refused. `lenient`: asked for besides the link's own mode; `now`: milliseconds
 * since 1970.
 */
export function readLead(
  body: unknown,
  link: ReadingRules,
  { lenient, now }: { lenient: boolean; now: number },
): LeadReading {
  const normalized = normalizeLead(body, {
    mode: lenient || link.mode === 'lenient' ? 'lenient' : 'strict',
    country: link.country,
    dummyPhones: link.dummyPhones,
    ...(link.dummyClasses && { dummyClasses: link.dummyClasses }),
    today: latestDate(now),
  });
  if (normalized.kind === 'refused') return { ...normalized, code: 'invalid-lead' };
  const { lead, identities, notes, consent } = normalized;
  if (link.requireIdentity && identities.length === 0)
    return { kind: 'refused', code: 'identity-required', errors: [] };
  return { kind: 'read', lead, identities, notes, ...(consent !== undefined && { consent }) };
}

/** The date where it is latest, UTC+14: nobody's birthday of today is in the future. */
function latestDate(now: number): string {
  return new Date(now + 14 * 3_600_000).toISOString().slice(0, 10);
}
