export { capture, type CaptureError, type CaptureOptions, type Kept } from './capture.ts';
export type { Accepted, Rejected, Settled } from './delivery.ts';
export type { Address, CustomValue, Lead, Touch } from './lead.ts';
export { resendUnsent } from './outbox.ts';
export type { FieldError, Problem } from './problem.ts';
