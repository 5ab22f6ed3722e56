export {
  applySubmissions,
  emptyLead,
  joinLeads,
  type LeadState,
  leadWithout,
  partsByEmail,
  type Provenance,
  type TouchOfSubmission,
} from './joins.ts';
export {
  contactKeys,
  type ContactKeys,
  identityKeys,
  type IdentityOptions,
  isPhoneCountry,
  phoneKeyOf,
} from './identity.ts';
export { touchOf } from './values.ts';
export {
  canonicalJson,
  type Charset,
  contactsIn,
  decodeText,
  keptBody,
  parseBody,
  type ParsedBody,
} from './body.ts';
export { NO_CUSTOM_VALUE, resolveCustomFields } from './custom-fields.ts';
export {
  BODY_KEY,
  type LeadReading,
  readLead,
  readSent,
  refusingNothing,
  type Signs,
  soleItem,
  takeSigns,
  wholeName,
} from './lead.ts';
export { type Drift, driftOf, type LinkShape, seeShape } from './shape.ts';
export {
  customFieldKey,
  cutText,
  exactJson,
  jsonPointer,
  jsonText,
  normalized,
} from './reading.ts';
export { mapBody, mappingFaults, mapRules, queryFaults, rowsOf, suggestRules } from './mapping.ts';
export { PRESET_NAMES, presetMapping, presetProof, PRESETS } from './presets.ts';
