export { applySubmissions } from './apply-submissions.ts';
export { contactKeys, type ContactKeys } from './contact-keys.ts';
export { customFieldKey } from './custom-field-key.ts';
export { identityKeys, phoneKeyOf, type IdentityOptions } from './identity-keys.ts';
export { isPhoneCountry } from './is-phone-country.ts';
export { emptyLead, joinLeads } from './join-leads.ts';
export type {
  ApplySubmissions,
  LeadState,
  Provenance,
  ResolveCustomFields,
  UtmTouch,
} from './lead-state.ts';
export { normalizeLead, type NormalizedLead, type NormalizeOptions } from './normalize-lead.ts';
export { parseBody } from './parse-body.ts';
export { readLead, type LeadReading } from './read-lead.ts';
export { resolveCustomFields } from './resolve-custom-fields.ts';
