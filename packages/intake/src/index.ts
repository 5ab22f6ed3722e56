export {
  accept,
  type Acceptance,
  type AcceptFailure,
  acceptOrSpool,
  type AcceptRequest,
  type Backpressure,
  createBreaker,
  createRedisDeadline,
  type Intake,
  type IntakeWithSpool,
  requestAgain,
  reserveAgain,
  type WithinDeadline,
} from './accept.ts';
export {
  forgetLeads,
  forgetWorkspace,
  type Forgotten,
  ownersInRedis,
  takeOrder,
  tellRemoved,
} from './erase.ts';
export { openLinkDirectory, type LinkDirectory } from './links/link-directory.ts';
export { openLinkSnapshot, type LinkSnapshot } from './links/link-snapshot.ts';
export { putLinks } from './links/link-changes.ts';
export {
  closedWorkspaces,
  confirmWorkspaces,
  onRefillRequest,
  openWorkspace,
  redisIdentity,
  requestedWorkspaces,
} from './reservation/marker.ts';
export { countLinks, linkCountStream, type LinkCounter } from './link-counts.ts';
export {
  directoryRevision,
  followDirectory,
  type LinkChangeSource,
  moveIdentities,
  refillAll,
  refillDirectory,
  type RefillSource,
  refillWorkspace,
  type RemovalSource,
} from './refill/refill.ts';
export { pushRejected, takeRejected } from './rejected.ts';
export { createLimits, type Limits, type LimitUse, MAX_WEIGHT } from './reservation/limits.ts';
export { createReserver, type ReservationRequest, type Reserver } from './reservation/reserver.ts';
export { drainFolder, startDrain, type DrainIntake } from './spool/drain.ts';
export { CannotLock, isSpoolFolder, SpoolFolder, spoolFolders } from './spool/folder.ts';
export type { SpooledSubmission } from './spool/segment.ts';
export { openSpool, type Spool, type SpoolStatus } from './spool/spool.ts';
export {
  type Consenter,
  consentKeyBeforeSetting,
  consentKeySetting,
  readConsenter,
  signConsenter,
  withdrawalOf,
} from './withdrawal.ts';
