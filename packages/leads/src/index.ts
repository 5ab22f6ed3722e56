export {
  applySubmissions,
  emptyLead,
  joinLeads,
  type LeadState,
  type Provenance,
  type TouchOfSubmission,
} from './joins.ts';
export { touchOf } from './attribution.ts';
export { canonicalJson, type Charset, decodeText, parseBody, type ParsedBody } from './body.ts';
export {
  contactKeys,
  type ContactKeys,
  identityKeys,
  type IdentityOptions,
  phoneKeyOf,
} from './identity.ts';
export { contactsIn } from './contacts.ts';
export { NO_CUSTOM_VALUE, resolveCustomFields } from './custom-fields.ts';
export { keptBody } from './kept-body.ts';
export { readLead, readSent, soleItem, wholeName, type LeadReading } from './lead.ts';
export { leadWithout, partsByEmail } from './split.ts';
export { type Drift, driftOf, type LinkShape, seeShape } from './shape.ts';
export { exactJson, jsonPointer, jsonText } from './reading.ts';
export { mapBody, mappingFaults, mapRules, queryFaults, rowsOf } from './mapping.ts';
export { PRESET_NAMES, presetMapping, presetProof, PRESETS } from './presets/index.ts';
export { BODY_KEY, takeSigns, type Signs } from './signs.ts';
export { suggestRules } from './suggest.ts';
export { isPhoneCountry } from './telephone.ts';
export { customFieldKey, cutText, normalized } from './text.ts';
