import type { Submission } from '@leadgate/contract';
import type { Apply, ApplyInfo, Outcome } from '../src/job-runner.ts';

const SETTLED: Outcome = { kind: 'settled' };
export const FAILED: Outcome = { kind: 'failed', reason: 'no' };
export const NACKED: Outcome = { kind: 'nacked' };

/** Applies each submission of a job by itself; what it is told nothing of is settled. */
export const each =
  (
    applyOne: (submission: Submission, info: ApplyInfo) => Promise<Outcome | void> | Outcome | void,
  ): Apply =>
  (submissions, info) =>
    Promise.all(submissions.map(async (one) => (await applyOne(one, info)) ?? SETTLED));

/** A promise to be resolved by hand. */
export function latch() {
  let open = (): void => {};
  const promise = new Promise<void>((resolve) => (open = resolve));
  return { promise, open };
}
