import {
  LEAD_FIELDS,
  UTM_FIELDS,
  type Consent,
  type FieldError,
  type Lead,
  type LeadField,
  type Note,
} from '@leadgate/contract';
import { readAddress } from './address.ts';
import { readBirthday } from './birthday.ts';
import { BIDI_OVERRIDES, cutText } from './clean-text.ts';
import { readConsent } from './consent.ts';
import { readCustomFields } from './custom-values.ts';
import { hasRightCheckDigits, readDocument } from './document.ts';
import { readEmail } from './email.ts';
import { Findings } from './findings.ts';
import { identityKeys, type PhoneRules } from './identity-keys.ts';
import { readInstagram } from './instagram.ts';
import { isJsonObject, own, type JsonObject } from './json-object.ts';
import { jsonPointer } from './json-pointer.ts';
import { readText } from './read-text.ts';
import { NOT_AN_OBJECT, type Reading } from './refusal.ts';
import { readState } from './state.ts';
import { isInternational, readTelephone } from './telephone.ts';

export interface NormalizeOptions extends PhoneRules {
  /** `strict` refuses a lead with any bad field; `lenient` sets bad fields aside with a note. */
  mode: 'strict' | 'lenient';
  /** YYYY-MM-DD, the last day somebody can have been born on. */
  today: string;
}

export type NormalizedLead =
  | { kind: 'accepted'; lead: Lead; identities: string[]; notes: Note[]; consent?: Consent }
  | { kind: 'refused'; errors: FieldError[] };

/** A utm value is cut, not refused: ad platforms write it, not the sender. */
const UTM_LIMIT = 2048;

const READERS: Record<LeadField, (value: unknown, today: string) => Reading> = {
  email: readEmail,
  name: (value) => readText(value, undefined, BIDI_OVERRIDES),
  telephone: readTelephone,
  document: readDocument,
  profession: (value) => readText(value),
  city: (value) => readText(value),
  state: readState,
  instagram: readInstagram,
  birthday: readBirthday,
};

const KNOWN_KEYS = new Set<string>([
  ...LEAD_FIELDS,
  ...UTM_FIELDS,
  'address',
  'customFields',
  'consent',
  // A beacon cannot set the Idempotency-Key header and sends this instead.
  '_idempotencyKey',
  // How long a form took, and how long ago: the receiver's, and in a refused body that is taken after all.
  '_filledMs',
  '_ageMs',
]);

/**
 * A parsed body as a normal lead, with its identity keys (email first) and notes on what was done
 * to it. Every field is optional; null and blank text are not sent. Refused is a body that is no
 * object, in either mode, and in strict mode one with a bad field: the errors then name every one
 * by JSON pointer. Neither errors nor notes repeat a value.
 */
export function normalizeLead(body: unknown, options: NormalizeOptions): NormalizedLead {
  if (!isJsonObject(body)) return { kind: 'refused', errors: [{ pointer: '', ...NOT_AN_OBJECT }] };
  const findings = new Findings();
  const lead = readLead(body, options.today, findings);
  const consent = readConsent(own(body, 'consent'), findings);
  if (options.mode === 'strict' && findings.errors.length > 0)
    return { kind: 'refused', errors: findings.errors };

  const { keys, notes } = identityKeys(lead, {
    ...options,
    international: isInternational(own(body, 'telephone')),
  });
  return {
    kind: 'accepted',
    lead,
    identities: keys,
    notes: [...findings.notes(), ...notes],
    ...(consent !== undefined && { consent }),
  };
}

function readLead(body: JsonObject, today: string, findings: Findings): Lead {
  const lead: Lead = {};
  for (const field of LEAD_FIELDS) {
    const text = findings.accept(READERS[field](own(body, field), today), `/${field}`);
    if (text !== undefined) lead[field] = text;
  }
  if (lead.document !== undefined && !hasRightCheckDigits(lead.document))
    findings.note('/document', 'check-digits');

  const address = readAddress(own(body, 'address'), findings);
  if (address !== undefined) lead.address = address;

  for (const field of UTM_FIELDS) {
    const text = findings.accept(readText(own(body, field), Infinity), `/${field}`);
    if (text === undefined) continue;
    lead[field] = cutText(text, UTM_LIMIT).trimEnd();
    if (lead[field] !== text) findings.note(`/${field}`, 'cut', `at ${UTM_LIMIT} characters`);
  }

  const customFields = readCustomFields(own(body, 'customFields'), findings);
  if (customFields !== undefined) lead.customFields = customFields;

  for (const key of Object.keys(body))
    if (!KNOWN_KEYS.has(key)) findings.unknownKey(() => jsonPointer(key));
  return lead;
}
