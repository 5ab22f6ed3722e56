export { mergeLeads, type Merge } from './apply/merge-leads.ts';
export { splitLead, type Split } from './apply/split-lead.ts';
export { freshLeadId, lonely, readAgain } from './apply/read-again.ts';
export { applyGroup, type GroupItem, type GroupResult } from './apply/apply-group.ts';
export { markOfExternal } from './apply/insert-submissions.ts';
export {
  actionsOf,
  type AuditActor,
  type AuditEntry,
  listAudit,
  recordAction,
  recordOutcome,
} from './audit.ts';
export {
  beginSecondFactor,
  confirmSecondFactor,
  removeAuthenticator,
  removeSecondFactor,
} from './credentials.ts';
export {
  type ErasedCounts,
  type ErasedPerson,
  erasePerson,
  type Erasure,
  type ErasureRequest,
  erasuresThere,
  identitiesOfHashes,
  matcherOf,
} from './erase.ts';
export { countPast, endDemo, findDemo } from './demo.ts';
export {
  type DeliveryTry,
  type DueDelivery,
  dueDeliveries,
  type EndpointStanding,
  findTest,
  keepLanes,
  type Lane,
  type LeadContent,
  listenForDeliveries,
  readLanes,
  recordTest,
  recordTries,
  releaseLane,
  resendSteps,
  type SentDelivery,
  sweepDeliveries,
  takeLanes,
} from './deliveries.ts';
export {
  DELIVERY_STATES,
  type DeliveryState,
  deliveryFigures,
  type DeliveryFigures,
  endpointBacklog,
  listDeliveries,
  type ListedDelivery,
  listTries,
} from './delivery-list.ts';
export {
  type ChangesPage,
  CursorError,
  type LeadChange,
  leadChanges,
  sweepChanges,
} from './changes.ts';
export {
  askEndpointTest,
  createEndpoint,
  type Endpoint,
  type EndpointSettings,
  findEndpoint,
  listEndpoints,
  removeEndpoint,
  rotateEndpointSecret,
  setEndpointState,
  setEndpointToken,
  updateEndpoint,
} from './endpoints.ts';
export { type Failure, failureOf, StoreError } from './failure-of.ts';
export { archiveField, createField, listFields, renameField } from './fields.ts';
export {
  decideHeld,
  type HeldDetails,
  type HeldState,
  type HeldSummary,
  heldCauses,
  listHeld,
  saveHeld,
  showHeld,
  searchHeld,
} from './held.ts';
export {
  type HistoryEntry,
  type LeadDetails,
  erasureOf,
  type LeadErasure,
  showLead,
  type SourcedTouch,
} from './lead-details.ts';
export { leadEvents } from './lead-events.ts';
export {
  type DuplicatePair,
  type DuplicateSide,
  exportLeads,
  findLeads,
  isDuplicatePair,
  isLeadPlace,
  type LeadFilter,
  type LeadSearch,
  type LeadSummary,
  listDuplicates,
  listLeads,
  recentLeads,
} from './leads.ts';
export { wholeGuard } from './link-settings.ts';
export {
  createLink,
  expireLink,
  findLink,
  type Link,
  listLinks,
  rotateLink,
  setLinkState,
  updateLink,
} from './links.ts';
export { migrate, MigrationError, migrationState } from './migrate.ts';
export { requirePostgres } from './require-postgres.ts';
export { openStore, requireWritable, type Store } from './open-store.ts';
export {
  addOperator,
  changeAccess,
  changePassword,
  findOperator,
  keepViews,
  listOperators,
  listViews,
  type Operator,
  removeOperator,
} from './operators.ts';
export { makePartitions } from './partitions.ts';
export { knownOfPerson, type KnownOfPerson } from './person.ts';
export {
  directoryRevision,
  linkEntries,
  refillSource,
  workspaceLinkEntries,
} from './refill-source.ts';
export {
  dismissRejected,
  keepMended,
  listRejected,
  rejectedCauses,
  searchRejected,
  markReplayed,
  type RejectedDetails,
  type RejectedFilter,
  type RejectedSummary,
  saveRejected,
  showRejected,
  trimRejected,
} from './rejected.ts';
export {
  allowRetention,
  dropAcceptedBefore,
  type RetentionStanding,
  retentionStandings,
} from './retention.ts';
export {
  beginRun,
  endRun,
  fileOfRun,
  findRun,
  keepRun,
  listRuns,
  type NewRun,
  resumeRun,
  type Run,
  RUN_KINDS,
  type RunKind,
  type RunProgress,
  stopRun,
  takeFilesOfRuns,
} from './runs.ts';
export {
  type AuthenticationResponseJSON,
  beginSecurityKey,
  confirmSecurityKey,
  listSecurityKeys,
  removeSecurityKey,
  type SecurityKey,
} from './security-keys.ts';
export {
  endSession,
  endSessionById,
  findSession,
  listSessions,
  type SessionSummary,
} from './sessions.ts';
export {
  type FirstSignIn,
  hasOperators,
  issueFirstCode,
  provePassword,
  signIn,
  signInFirst,
  signInWithKey,
} from './sign-in.ts';
export {
  countStoredSubmissions,
  keepDiscarded,
  listSubmissions,
  showSubmission,
  type StoredFilter,
  type StoredSubmission,
  storedSubmissions,
  type SubmissionDetails,
  submissionsSince,
  submissionsThere,
  type SubmissionSummary,
} from './submissions.ts';
export {
  consentLinkOf,
  type ConsentProof,
  consentProofs,
  type ConsentRecord,
  fillConsents,
} from './consents.ts';
export {
  dropConsents,
  dueRetention,
  previewRetention,
  RETENTION_KINDS,
  retentionDone,
  type RetentionKind,
  retentionOf,
  type RetentionOfKind,
  setRetention,
  tellDefaultDays,
  untouchedLeads,
} from './retention-policy.ts';
export { keepReads, listReads, type PersonRead, recordRead } from './reads.ts';
export { displayText, isUuid } from './text.ts';
export {
  ALARM_KINDS,
  endedSilences,
  endpointsNearTheirEnd,
  type FoundAlarm,
  hoursOfWorkspaces,
  listAlarms,
  openAlarms,
  quietLink,
  type RecentPosts,
  recentPosts,
  settleAlarms,
  type WatchedLink,
  watchedLinks,
} from './alarms.ts';
export {
  linkSums,
  listOpen,
  type MissingRows,
  missingRows,
  moveVerified,
  type OpenEntry,
  settleOpen,
  unsettled,
} from './ledger.ts';
export { dayAfter, type Part, partsOf, RANKED_DAYS, rankSubjects } from './ranking.ts';
export {
  addUpTallies,
  countEntries,
  dropOldSeries,
  ledgerCursor,
  linkActivity,
  readFlow,
  readSeries,
  type Unrecognised,
  unrecognisedPosts,
  workspaceOfCampaign,
} from './series.ts';
export { driftedLinks } from './shapes.ts';
export { minuteOf, minuteOfId, type Tally } from './tally.ts';
export { erasureKeyOf, erasureKeyState, keyCheckOf } from './tombstones.ts';
export {
  type ApiToken,
  createToken,
  findToken,
  listTokens,
  LONGEST_TOKEN_DAYS,
  revokeToken,
} from './tokens.ts';
export {
  beginRemoval,
  countWorkspace,
  REMOVED_FROM,
  removeWorkspace,
  type WorkspaceCounts,
} from './remove-workspace.ts';
export {
  doubtfulPhones,
  type DoubtfulPhones,
  createWorkspace,
  findWorkspace,
  listWorkspaces,
  updateWorkspace,
  type Workspace,
  workspaceOf,
} from './workspaces.ts';
export { databaseTime } from './time.ts';
export {
  BEFORE_ALL_IDS,
  renewSecrets,
  SECRET_HOLDERS,
  type SecretCounts,
  type SecretHolder,
} from './secrets.ts';
