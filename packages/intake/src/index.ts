export {
  accept,
  requestAgain,
  type Acceptance,
  type AcceptRequest,
  type Intake,
} from './accept/accept.ts';
export {
  acceptOrSpool,
  type AcceptFailure,
  type Backpressure,
  type IntakeWithSpool,
} from './accept/accept-or-spool.ts';
export { createBreaker, type Breaker } from './accept/breaker.ts';
export { createRedisDeadline, type WithinDeadline } from './accept/redis-deadline.ts';
export { forgetLeads, ownersInRedis, takeOrder, type Forgotten } from './erase.ts';
export { openLinkDirectory, type Finding, type LinkDirectory } from './links/link-directory.ts';
export { openLinkSnapshot, type LinkSnapshot } from './links/link-snapshot.ts';
export { putLinks } from './links/put-links.ts';
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
export { refillAll } from './refill/refill-all.ts';
export { followDirectory, refillDirectory } from './refill/refill-directory.ts';
export { directoryRevision } from './refill/directory-revision.ts';
export { refillWorkspace } from './refill/refill-workspace.ts';
export { pushRejected } from './rejected/push-rejected.ts';
export type { RejectedBody } from '@leadgate/contract';
export { takeRejected } from './rejected/take-rejected.ts';
export { forgetWorkspace, tellRemoved } from './remove-workspace.ts';
export { createLimits, type Limits } from './reservation/limits.ts';
export { moveIdentities } from './reservation/move-identities.ts';
export { openWorkspace } from './reservation/open-workspace.ts';
export {
  MAX_WEIGHT,
  ReservationError,
  type LimitUse,
  type Reservation,
  type ReservationRequest,
} from './reservation/reservation.ts';
export { createReserver, type Reserver } from './reservation/reserver.ts';
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
