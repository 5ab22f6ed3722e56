export {
  reaches,
  readRole,
  roleErrors,
  roleIn,
  ROLES,
  RoleSchema,
  type Access,
  type Role,
} from './access.ts';
export { PHONE_CLASSES, PhoneClass, readCaptureLink, type CaptureLink } from './capture-link.ts';
export type { Consent } from './consent.ts';
export { CUSTOM_FIELD_TYPES, type CustomField, type CustomFieldType } from './custom-field.ts';
export { HELD_REASONS, readHeldReason, type Held, type HeldReason } from './held.ts';
export {
  decodeSubmission,
  encodeSubmission,
  LARGEST_GROUP,
  memberLine,
  packJob,
  readJob,
  unpackJob,
  unpackJobSync,
  type JobPayload,
  type ReadMember,
} from './job.ts';
export {
  ADDRESS_FIELDS,
  LEAD_FIELDS,
  Lead,
  ATTRIBUTION_FIELDS,
  CLICK_IDS,
  UTM_FIELDS,
  type AddressField,
  type Attribution,
  type AttributionField,
  type ClickId,
  type CustomValue,
  type FieldPath,
  type LeadField,
  type Touch,
  type UtmField,
} from './lead.ts';
export {
  ENDPOINT_EVENTS,
  type EndpointEvent,
  LEAD_EVENTS,
  type LeadEventType,
} from './lead-event.ts';
export { CAPTCHA_URLS, type LinkGuard } from './link-guard.ts';
export { LinkProof, LinkProofView } from './link-proof.ts';
export { LinkMapping, type MappingRule } from './link-mapping.ts';
export {
  LINK_DEFAULTS,
  LinkGuardChanges,
  LinkGuardView,
  LinkRules,
  LinkSettings,
} from './link-settings.ts';
export { NOTE_CODES, type Note, type NoteCode } from './note.ts';
export { PACKED_LENGTH, packUuid, unpackUuid } from './packed-uuid.ts';
export {
  PROBLEMS,
  Problem,
  Receipt,
  problem,
  problemSchema,
  type FieldError,
  type ProblemCode,
  type RowReceipt,
} from './problem.ts';
export type { LinkChanges, LinkChangeSource, RefillSource, RemovalSource } from './refill.ts';
export type { RejectedBody } from './rejected-body.ts';
export type { BodyType, OwnedIdentity, Submission, SubmissionSource } from './submission.ts';
export { externalIdOf, externalKey, isExternalKey, LONGEST_EXTERNAL_ID } from './submission.ts';
