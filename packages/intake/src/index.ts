export {
  accept,
  requestAgain,
  reserveAgain,
  type Acceptance,
  type AcceptRequest,
  type Intake,
} from './accept/accept.ts';
export {
  type AcceptFailure,
  acceptOrSpool,
  type Backpressure,
  type Breaker,
  createBreaker,
  createRedisDeadline,
  type IntakeWithSpool,
  type WithinDeadline,
} from './accept/accept-or-spool.ts';
export {
  forgetLeads,
  forgetWorkspace,
  type Forgotten,
  ownersInRedis,
  takeOrder,
  tellRemoved,
} from './erase.ts';
export { openLinkDirectory, type Finding, type LinkDirectory } from './links/link-directory.ts';
export { openLinkSnapshot, type LinkSnapshot } from './links/link-snapshot.ts';
export { putLinks } from './links/link-changes.ts';
export {
  closedWorkspaces,
  confirmWorkspaces,
  onRefillRequest,
  redisIdentity,
  requestedWorkspaces,
} from './refill/confirm-workspaces.ts';
export {
  countLinks,
  linkCountStream,
  type LinkCount,
  type LinkCounter,
  type ReceiverCount,
} from './link-counts.ts';
export {
  directoryRevision,
  followDirectory,
  refillAll,
  refillDirectory,
  refillWorkspace,
} from './refill/refill.ts';
export { pushRejected, takeRejected } from './rejected.ts';
export { createLimits, type Limits, type LimitUse, MAX_WEIGHT } from './reservation/limits.ts';
export { moveIdentities } from './reservation/move-identities.ts';
export { openWorkspace } from './reservation/open-workspace.ts';
export {
  createReserver,
  type Reservation,
  ReservationError,
  type ReservationRequest,
  type Reserver,
} from './reservation/reserver.ts';
export { drainFolder, startDrain, type Drain, type DrainIntake } from './spool/drain.ts';
export { isSpoolFolder, SpoolFolder, spoolFolders } from './spool/folder.ts';
export { CannotLock } from './spool/lock.ts';
export type { SpooledSubmission } from './spool/record.ts';
export { openSpool, type Spool, type SpoolStatus } from './spool/spool.ts';
export {
  type Consenter,
  consentKeyBeforeSetting,
  consentKeySetting,
  readConsenter,
  signConsenter,
  withdrawalOf,
} from './withdrawal.ts';
