export type { AuditActor, AuditEntry } from './audit/audit-entry.ts';
export { listAudit, type AuditFilter } from './audit/list-audit.ts';
export { recordAction, recordOutcome } from './audit/record-action.ts';
export { displayText, isUuid } from './display-text.ts';
export { archiveField } from './fields/archive-field.ts';
export { createField, type FieldCreation, type NewField } from './fields/create-field.ts';
export { listFields } from './fields/list-fields.ts';
export { renameField, type FieldRenaming } from './fields/rename-field.ts';
export { decideHeld } from './held/decide-held.ts';
export type { HeldState, HeldSummary } from './held/held-row.ts';
export { listHeld, type HeldFilter } from './held/list-held.ts';
export { saveHeld } from './held/save-held.ts';
export { showHeld, type HeldDetails } from './held/show-held.ts';
export { exportLeads, type ExportFilter } from './leads/export-leads.ts';
export { findLeads, type LeadSearch } from './leads/find-leads.ts';
export type { HistoryEntry } from './leads/history-of-lead.ts';
export type { LeadSummary } from './leads/lead-row.ts';
export { recentLeads } from './leads/recent-leads.ts';
export {
  isDuplicatePair,
  listDuplicates,
  type DuplicateFilter,
  type DuplicatePair,
  type DuplicateSide,
} from './leads/list-duplicates.ts';
export { showLead, type LeadDetails, type Touch } from './leads/show-lead.ts';
export { createLink, type LinkCreation } from './links/create-link.ts';
export { expireLink } from './links/expire-link.ts';
export { findLink } from './links/find-link.ts';
export {
  linkEntries,
  linkEntryPages,
  workspaceLinkEntries,
  type LinkEntry,
} from './links/link-entries.ts';
export type { Link, LinkCode } from './links/link.ts';
export { listLinks } from './links/list-links.ts';
export { rotateLink, type LinkRotation } from './links/rotate-link.ts';
export { updateLink } from './links/update-link.ts';
export { wholeGuard } from './links/whole-guard.ts';
export { setLinkState } from './links/set-link-state.ts';
export {
  hasOperators,
  issueFirstCode,
  signInFirst,
  type FirstCode,
  type FirstSignIn,
} from './operators/first-operator.ts';
export {
  addOperator,
  changeAccess,
  changePassword,
  findOperator,
  listOperators,
  removeOperator,
  type Operator,
} from './operators/operators.ts';
export {
  beginSecondFactor,
  confirmSecondFactor,
  removeSecondFactor,
  secondFactorKey,
} from './operators/second-factor.ts';
export {
  endSession,
  endSessionById,
  findSession,
  listSessions,
  type SessionSummary,
} from './operators/sessions.ts';
export {
  createToken,
  findToken,
  listTokens,
  LONGEST_TOKEN_DAYS,
  revokeToken,
  type ApiToken,
} from './operators/tokens.ts';
export { provePassword, signIn } from './operators/sign-in.ts';
export { makePartitions } from './partitions/partitions.ts';
export {
  allowRetention,
  databaseTime,
  dropAcceptedBefore,
  retentionStandings,
  type RetentionStanding,
} from './partitions/retention.ts';
export { keepMended, markReplayed } from './rejected/change-rejected.ts';
export { countRejected, listRejected, type RejectedFilter } from './rejected/list-rejected.ts';
export type { RejectedSummary } from './rejected/rejected-row.ts';
export { saveRejected } from './rejected/save-rejected.ts';
export { showRejected, type RejectedDetails } from './rejected/show-rejected.ts';
export { trimRejected } from './rejected/trim-rejected.ts';
export type { ConsentRecord } from './submissions/consent-record.ts';
export { keepDiscarded, type DiscardedSubmission } from './submissions/keep-discarded.ts';
export { listSubmissions, type SubmissionFilter } from './submissions/list-submissions.ts';
export { showSubmission, type SubmissionDetails } from './submissions/show-submission.ts';
export type { SubmissionSummary } from './submissions/submission-row.ts';
export {
  countStoredSubmissions,
  storedSubmissions,
  type StoredFilter,
  type StoredSubmission,
} from './submissions/stored-submissions.ts';
export { submissionsSince } from './submissions/submissions-since.ts';
export { submissionsThere } from './submissions/submissions-there.ts';
export {
  createWorkspace,
  findWorkspace,
  listWorkspaces,
  updateWorkspace,
  type NewWorkspace,
  type Workspace,
  type WorkspaceChanges,
  type WorkspaceCreation,
} from './workspaces.ts';
export {
  applyGroup,
  type AppliedSubmission,
  type GroupItem,
  type GroupResult,
  type GroupRules,
  type MovedIdentity,
} from './apply/apply-group.ts';
export { mergeLeads, type Merge } from './apply/merge-leads.ts';
export { directoryRevision } from './directory-revision.ts';
export { failureOf, StoreError, type Failure } from './failure-of.ts';
export { migrate, MigrationError } from './migrate.ts';
export { migrationState, type MigrationState } from './migration-state.ts';
export { openStore, type Store, type StoreOptions } from './open-store.ts';
export { refillSource } from './refill-source.ts';
export { requireWritable } from './require-writable.ts';
export { workspaceOf } from './workspace-of.ts';
