import {
  accept,
  enqueueReserved,
  NotEnqueued,
  requestAgain,
  type Intake,
} from '../accept/accept.ts';
import type { SpoolFolder, SpoolRecord } from './spool-folder.ts';
import type { SpooledSubmission } from './spooled-submission.ts';

export interface BatchResult {
  drained: number;
  /** Damaged, and set aside. */
  damaged: number;
  /** Their workspace is behind: nothing of it can be reserved before its refill. */
  behind: string[];
  /** Redis failed: what is left of the batch stays. */
  failure: Error | null;
}

/**
 * Hands a batch of records to Redis, and removes from the folder what stands in the queue then. All
 * are asked for in one turn, so they are one reservation a workspace and one pipeline, in order.
 * Killed at any point it can run again: job ids and idempotency records make the second run a no-op.
 */
export async function drainBatch(
  folder: SpoolFolder,
  records: readonly SpoolRecord[],
  intake: Intake,
): Promise<BatchResult> {
  const settled = await Promise.all(
    records.map(async ({ sequence, spooled }) => ({
      sequence,
      outcome: spooled === null ? DAMAGED : await settle(spooled, intake),
    })),
  );
  const result: BatchResult = { drained: 0, damaged: 0, behind: [], failure: null };
  const enqueued: number[] = [];
  for (const { sequence, outcome } of settled)
    switch (outcome.kind) {
      case 'enqueued':
        enqueued.push(sequence);
        break;
      case 'damaged':
        await folder.setAside(sequence);
        result.damaged += 1;
        break;
      case 'behind':
        result.behind.push(outcome.workspaceId);
        break;
      case 'failed':
        result.failure = outcome.error;
        // Its order was given before those of later records, and stays so.
        if (outcome.reserved) await folder.replace(sequence, outcome.reserved);
        break;
    }
  await folder.remove(enqueued);
  result.drained = enqueued.length;
  return result;
}

type Settled =
  | { kind: 'enqueued' }
  | { kind: 'damaged' }
  | { kind: 'behind'; workspaceId: string }
  | { kind: 'failed'; error: Error; reserved?: SpooledSubmission };

const DAMAGED: Settled = { kind: 'damaged' };
const ENQUEUED: Settled = { kind: 'enqueued' };

async function settle(spooled: SpooledSubmission, intake: Intake): Promise<Settled> {
  try {
    const { submission, reserved, idempotency } = spooled;
    if (reserved) {
      await enqueueReserved(intake, submission);
      return ENQUEUED;
    }
    const request = requestAgain(submission);
    const { kind } = await accept(intake, { ...request, ...(idempotency && { idempotency }) });
    if (kind === 'accepted') return ENQUEUED;
    if (kind === 'behind') return { kind, workspaceId: submission.workspaceId };
    throw new Error(`a submission without limits that was answered is ${kind}`);
  } catch (error) {
    if (error instanceof NotEnqueued) {
      const reserved = { ...spooled, submission: error.submission, reserved: true };
      return failed(error.cause, reserved);
    }
    // No id is one, or there are too many keys: not even a healthy Redis could take it.
    if (error instanceof TypeError || error instanceof RangeError) return DAMAGED;
    return failed(error);
  }
}

function failed(error: unknown, reserved?: SpooledSubmission): Settled {
  const reason = error instanceof Error ? error : new Error('Redis failed');
  return { kind: 'failed', error: reason, ...(reserved && { reserved }) };
}
