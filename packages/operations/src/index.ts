export {
  pathMembers,
  Refusal,
  TextFile,
  type Call,
  type Connections,
  type DeliverySettings,
  type Operation,
  type RefusalCode,
} from './operation.ts';
export { applyErasures, LedgerError } from './erasure-ledger.ts';
export { erasureKeySetting, erasureLedgerSetting } from './erasure.ts';
export type { LinkView } from './link.ts';
export { allOperations, loadNoun, type Nouns } from './registry.ts';
export { couldRun, onRecord, roleOver, runOperation, type Given } from './run.ts';
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
export { UnreadableInput } from './import/open-input.ts';
export type { RowFormat } from './import/rows.ts';
export { isTimeZone, readOffset } from './import/times.ts';
export {
  changesOfReplay,
  countReplay,
  replaySubmissions,
  type CustomFieldChange,
  type Replayed,
  type ReplayOptions,
} from './replay/replay-submissions.ts';
export type { Servers } from './servers.ts';
export { tail, type TailEvent, type TailOptions } from './tail.ts';
export { Nullable, Time, Uuid } from './schema.ts';
