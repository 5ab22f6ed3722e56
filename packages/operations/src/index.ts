export {
  pathMembers,
  Refusal,
  TextFile,
  type Call,
  type Connections,
  type Operation,
  type RefusalCode,
} from './operation.ts';
export type { LinkView } from './link.ts';
export { allOperations, loadNoun, type Nouns } from './registry.ts';
export { couldRun, onRecord, roleOver, runOperation, type Given } from './run.ts';
export { leadsAsCsv, leadsAsNdjson } from './export/lead-csv.ts';
export { discardFailed, type DiscardedFailed } from './failed/discard-failed.ts';
export { retryFailed, type RetriedFailed, type RetryFailedOptions } from './failed/retry-failed.ts';
export { releaseHeld, type ReleasedHeld } from './held/release-held.ts';
export { createErrorReport, type ErrorReport } from './import/error-report.ts';
export {
  importRows,
  type ImportOptions,
  type ImportProgress,
  type ImportResult,
  type ImportServers,
  type ImportStart,
  type RefusedRow,
} from './import/import-rows.ts';
export { UnreadableInput } from './import/open-text.ts';
export type { RowFormat } from './import/rows.ts';
export { isTimeZone, readOffset } from './import/times.ts';
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
export { tail, type TailEvent, type TailOptions } from './tail/tail.ts';
