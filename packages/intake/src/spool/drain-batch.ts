import type { Note, Submission } from '@leadgate/contract';
import type { Reservation, ReservationRequest } from '../reservation/reservation.ts';
import type { SpoolFolder, SpoolRecord } from './spool-folder.ts';
import type { SpooledSubmission } from './spooled-submission.ts';

/** Where drained submissions go: the way of any other, without limits. */
export interface DrainTarget {
  reserve(request: ReservationRequest): Promise<Reservation>;
  /** Resolves when the job is durable in Redis. */
  enqueue(submission: Submission): Promise<void>;
  /**
   * Has `answeredLeadId` stand for the lead of a submission that is in the queue, or was applied,
   * under the same id without it.
   */
  enqueueAlias(submission: Submission & { answeredLeadId: string }): Promise<void>;
}

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
  target: DrainTarget,
): Promise<BatchResult> {
  const settled = await Promise.all(
    records.map(async ({ sequence, spooled }) => ({
      sequence,
      outcome: spooled === null ? DAMAGED : await settle(spooled, target),
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

function failed(error: unknown, reserved?: SpooledSubmission): Settled {
  const reason = error instanceof Error ? error : new Error('Redis failed');
  return { kind: 'failed', error: reason, ...(reserved && { reserved }) };
}

async function settle(spooled: SpooledSubmission, target: DrainTarget): Promise<Settled> {
  if (spooled.reserved) return enqueued(spooled, target);
  let found: Found;
  try {
    found = await reserve(spooled, target);
  } catch (error) {
    // No id is one, or there are too many keys: not even a healthy Redis could take it.
    if (error instanceof TypeError || error instanceof RangeError) return DAMAGED;
    return failed(error);
  }
  switch (found.kind) {
    case 'behind':
      return found;
    case 'found':
      return enqueued({ ...spooled, submission: found.submission, reserved: true }, target);
    case 'another':
      return aliased(found.submission, target);
  }
}

/**
 * A sender that repeated the post may have had it enqueued already, under the same id and without the
 * lead id that was answered here: that job stands or has run, and this one would tell nobody.
 */
async function enqueued(reserved: SpooledSubmission, target: DrainTarget): Promise<Settled> {
  const { submission, idempotency } = reserved;
  const { answeredLeadId } = submission;
  try {
    await Promise.all([
      target.enqueue(submission),
      idempotency !== undefined &&
        answeredLeadId !== undefined &&
        target.enqueueAlias({ ...submission, answeredLeadId }),
    ]);
    return { kind: 'enqueued' };
  } catch (error) {
    return failed(error, reserved);
  }
}

/** Where enqueuing fails the record stays as it is: its key finds the other submission again. */
async function aliased(submission: Submission, target: DrainTarget): Promise<Settled> {
  const { leadId, answeredLeadId } = submission;
  if (answeredLeadId === undefined || answeredLeadId === leadId) return { kind: 'enqueued' };
  try {
    await target.enqueueAlias({ ...submission, answeredLeadId });
    return { kind: 'enqueued' };
  } catch (error) {
    return failed(error);
  }
}

type Found =
  | { kind: 'behind'; workspaceId: string }
  | { kind: 'found'; submission: Submission }
  /** The sender repeated it elsewhere, and that was accepted as the submission given. */
  | { kind: 'another'; submission: Submission };

async function reserve(
  { submission, idempotency }: SpooledSubmission,
  target: DrainTarget,
): Promise<Found> {
  const { id, workspaceId, linkId, leadId: offeredLeadId, identities } = submission;
  const request: ReservationRequest = {
    submissionId: id,
    workspaceId,
    linkId,
    offeredLeadId,
    identityKeys: identities.map(({ key }) => key),
    limits: [],
  };
  let notes = submission.notes;
  let reservation = await target.reserve({ ...request, ...(idempotency && { idempotency }) });
  if (reservation.kind === 'key-reused') {
    // It had its 202 before anybody could know.
    notes = [...notes, KEY_OF_ANOTHER_BODY];
    reservation = await target.reserve(request);
  }
  switch (reservation.kind) {
    case 'reserved':
      return { kind: 'found', submission: reservedAs({ ...submission, notes }, reservation) };
    case 'repeated': {
      const kind = reservation.submissionId === id ? 'found' : 'another';
      const repeated = { ...submission, id: reservation.submissionId, notes };
      return { kind, submission: reservedAs(repeated, reservation) };
    }
    case 'behind':
      return { kind: 'behind', workspaceId };
    case 'key-reused':
    case 'limited':
      throw new Error(`a reservation without key and limits was ${reservation.kind}`);
  }
}

const KEY_OF_ANOTHER_BODY: Note = { field: '', code: 'key-of-another-body' };

/** The offered id was answered: it has to stand for whichever lead was found. */
function reservedAs(
  submission: Submission,
  { leadId, identities, order }: Pick<Submission, 'leadId' | 'identities' | 'order'>,
): Submission {
  return {
    ...submission,
    leadId,
    identities,
    order,
    // A receiver's clock may be ahead of Redis's.
    stamp: Math.min(submission.stamp, order),
    ...(leadId !== submission.leadId && { answeredLeadId: submission.leadId }),
  };
}
