export { discardFailed, type DiscardedFailed } from './failed/discard-failed.ts';
export { retryFailed, type RetriedFailed, type RetryFailedOptions } from './failed/retry-failed.ts';
export { mendRejected, type Mended, type Mending } from './rejected/mend-rejected.ts';
export {
  replayAllRejected,
  replayRejected,
  type ReplayedRejected,
  type ReplayRejectedOptions,
} from './rejected/replay-rejected.ts';
export {
  changesOfReplay,
  countReplay,
  replaySubmissions,
  type CustomFieldChange,
  type Replayed,
  type ReplayOptions,
} from './replay/replay-submissions.ts';
export type { Servers } from './servers.ts';
