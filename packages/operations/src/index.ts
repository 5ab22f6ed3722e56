export {
  type Call,
  type Connections,
  type DeliverySettings,
  Erased,
  type Operation,
  pathMembers,
  Refusal,
  type RefusalCode,
  type Servers,
  type SignedIn,
  TextFile,
} from './operation.ts';
export {
  appendErasure,
  applyErasures,
  eraseEverywhere,
  erasureKeySetting,
  erasureLedgerSetting,
  LedgerError,
} from './erasure.ts';
export type { LinkView } from './link.ts';
export {
  allOperations,
  loadOperation,
  type InputOf,
  type OperationKey,
  type OutputOf,
} from './registry.ts';
export { shownTo } from './mask.ts';
export { couldRun, onRecord, roleOver, runOperation, type Given } from './run.ts';
export { fillDemo, openDemo } from './demo/demo.ts';
export { createErrorReport, type ErrorReport, type RowFormat } from './import/rows.ts';
export {
  importRows,
  type ImportOptions,
  type ImportProgress,
  type ImportResult,
  type ImportServers,
  type ImportStart,
} from './import/import-rows.ts';
export { cellsOf, ImportPreview, previewImport } from './import/import-preview.ts';
export { startImport, type ImportRequest } from './import/import-run.ts';
export { UnreadableInput } from './import/open-input.ts';
export type { PostChange } from './replay/read-again.ts';
export type { CustomFieldChange } from './replay/replay-submissions.ts';
export { isTimeZone, readOffset } from './import/times.ts';
export { type Ended, Runner, type Started } from './runs.ts';
export { tail, type TailEvent, type TailOptions } from './tail.ts';
export { Nullable, Time, Uuid } from './schema.ts';
