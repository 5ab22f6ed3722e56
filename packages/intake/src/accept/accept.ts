import type { HeldReason, Note, Submission } from '@leadgate/contract';
import { type LimitUse } from '../reservation/limits.ts';
import {
  type Reservation,
  type ReservationRequest,
  type Reserver,
} from '../reservation/reserver.ts';

/** The two ends of Redis that a submission is handed to. */
export interface Intake {
  reserver: Pick<Reserver, 'reserve'>;
  producer: {
    /** Resolves when Redis has the job. Calling again is always safe. */
    enqueue(submission: Submission, options?: EnqueueOptions): Promise<void>;
  };
}

interface EnqueueOptions {
  /** Its turn comes when no live traffic waits. */
  background?: boolean;
  /** It was enqueued before, most likely: it is not counted as accepted again. */
  repeat?: boolean;
}

/** A submission before its reservation. */
export interface AcceptRequest {
  /** Its id: UUIDv7. */
  submission: Omit<Submission, ReservedField>;
  /** The lead it is for if none of its identities is known. */
  offeredLeadId: string;
  /** The sender has the offered id already: it has to stand for whichever lead is found. */
  isAnswered?: boolean;
  /** The sender's id of it (`externalKey`), if it has one, then the email. */
  identityKeys: readonly string[];
  /** Why an operator has to decide on it first. It claims no identity until then. */
  held?: HeldReason;
  /** `key` is per link; `bodyHash` tells another body under the same key. */
  idempotency?: { key: string; bodyHash: string };
  limits?: readonly LimitUse[];
  joinLimit?: LimitUse;
  /** Microseconds since 1970: the time the facts are from, if not now. Never later than the order. */
  stamp?: number;
  /** Its turn comes when no live traffic waits. */
  background?: boolean;
}

type ReservedField = 'leadId' | 'answeredLeadId' | 'identities' | 'order' | 'stamp' | 'held';

/**
 * - `accepted`: it is in the queue. A repeat under an idempotency key is the submission of the first.
 * - `key-reused`: the idempotency key belongs to another body. It is held, for an operator to release.
 * - `limited`: over a limit.
 * - `behind`: Redis does not hold all of the workspace; a worker refills it.
 */
export type Acceptance =
  | { kind: 'accepted'; submissionId: string; leadId: string }
  | { kind: 'key-reused' }
  | { kind: 'limited'; retryAfterSeconds: number }
  | { kind: 'behind' };

/** Carries the submission as it was reserved, under which it has to be enqueued later. */
export class NotEnqueued extends Error {
  override readonly name = 'NotEnqueued';
  readonly submission: Submission;

  constructor(submission: Submission, cause: unknown) {
    const reason = cause instanceof Error ? `: ${cause.message.slice(0, 200)}` : '';
    super(`a reserved submission was not enqueued${reason}`, { cause });
    this.submission = submission;
  }
}

/** What met a used idempotency key could not be kept: its sender has to try again. */
export class NotHeld extends Error {
  override readonly name = 'NotHeld';
  constructor(cause: unknown) {
    super('a post under a used key was not kept', { cause });
  }
}

/** Waits for one answer of Redis, and may give up on it. */
type Wait = <T>(answer: Promise<T>) => Promise<T>;
const patiently: Wait = (answer) => answer;

/**
 * Reserves a submission's lead and order, and puts it in the queue: it is durable when this says
 * `accepted`. Every submission comes in here, whoever sends it. Calling again under the same id is
 * harmless. Rejects with NotEnqueued if it was reserved and no more, with NotHeld if its key is used and
 * it could not be kept, else with what the reservation rejects with.
 */
export async function accept(
  intake: Intake,
  request: AcceptRequest,
  wait = patiently,
): Promise<Acceptance> {
  const reservation = await wait(reserve(intake, request));
  switch (reservation.kind) {
    case 'behind':
    case 'limited':
      return reservation;
    case 'key-reused':
      // What was answered had its 202 before anything could know.
      if (request.isAnswered === true) return accept(intake, withoutKey(request), wait);
      await hold(intake, request, wait);
      return reservation;
    case 'reserved':
    case 'repeated': {
      const submission = reservedAs(request, reservation);
      const repeat = reservation.kind === 'repeated' || reservation.isKnown === true;
      const { background = false } = request;
      await enqueueReserved(intake, submission, { background, repeat, wait });
      return { kind: 'accepted', submissionId: submission.id, leadId: submission.leadId };
    }
  }
}

/**
 * Keeps what met a used key: a key can be guessed, and a stranger who used it first would have the
 * lead refused. It is held under a key of its body's own, so that however often its sender tries, it
 * is one. Rejects with NotHeld.
 */
async function hold(
  intake: Intake,
  { idempotency: used, limits: _, ...request }: AcceptRequest,
  wait: Wait,
): Promise<void> {
  const bodyHash = used?.bodyHash ?? '';
  const key = `\0${bodyHash} ${used?.key ?? ''}`;
  const again: AcceptRequest = {
    ...request,
    held: request.held ?? 'key-reused',
    idempotency: { key, bodyHash },
  };
  let kind: string;
  try {
    ({ kind } = await accept(intake, again, wait));
  } catch (error) {
    throw new NotHeld(error);
  }
  if (kind !== 'accepted') throw new NotHeld(new Error(`what met a used key is ${kind}`));
}

/**
 * Puts in the queue what was reserved before. A repeat is enqueued again, as the one that reserved it
 * first may have died before enqueuing. Rejects with NotEnqueued.
 */
export async function enqueueReserved(
  { producer }: Pick<Intake, 'producer'>,
  submission: Submission,
  { background = false, repeat = false, wait = patiently }: EnqueueOptions & { wait?: Wait } = {},
): Promise<void> {
  try {
    await wait(producer.enqueue(submission, { background, repeat }));
  } catch (error) {
    throw new NotEnqueued(submission, error);
  }
}

/**
 * Claims other identities for a stored submission, which its caller applies: the lead that it is of by them, and
 * their owners. Null: Redis does not hold all of the workspace.
 */
export async function reserveAgain(
  reserver: Intake['reserver'],
  submission: Submission,
  request: Pick<AcceptRequest, 'offeredLeadId' | 'identityKeys'>,
): Promise<Pick<Submission, 'leadId' | 'identities'> | null> {
  const reservation = await reserve({ reserver }, { submission, ...request });
  return reservation.kind === 'reserved' ? reservation : null;
}

/**
 * The request of a submission that was answered without a reservation, or whose reservation does not
 * count any more: it keeps its id and its stamp, and the lead id that was answered is on offer.
 */
export function requestAgain(submission: Submission): AcceptRequest {
  const { leadId, answeredLeadId: _, identities, order: __, stamp, held, ...asSent } = submission;
  return {
    submission: asSent,
    offeredLeadId: leadId,
    isAnswered: true,
    identityKeys: held?.keys ?? identities.map(({ key }) => key),
    ...(held !== undefined && { held: held.reason }),
    stamp,
  };
}

function reserve(
  { reserver }: Pick<Intake, 'reserver'>,
  request: AcceptRequest,
): Promise<Reservation> {
  const { submission } = request;
  const asked: ReservationRequest = {
    submissionId: submission.id,
    workspaceId: submission.workspaceId,
    linkId: submission.linkId,
    offeredLeadId: request.offeredLeadId,
    identityKeys: request.identityKeys,
    limits: request.limits ?? [],
  };
  if (request.held !== undefined) asked.held = request.held;
  if (request.idempotency !== undefined) asked.idempotency = request.idempotency;
  if (request.joinLimit !== undefined) asked.joinLimit = request.joinLimit;
  return reserver.reserve(asked);
}

function withoutKey({ idempotency: _, submission, ...rest }: AcceptRequest): AcceptRequest {
  const notes = [...submission.notes, KEY_OF_ANOTHER_BODY];
  return { ...rest, submission: { ...submission, notes } };
}

const KEY_OF_ANOTHER_BODY: Note = { field: '', code: 'key-of-another-body' };

/** A repeat is what it was judged to be the first time, held or taken, whatever it looks like now. */
function reservedAs(
  request: AcceptRequest,
  reservation: Extract<Reservation, { kind: 'reserved' | 'repeated' }>,
): Submission {
  const { submission, offeredLeadId, identityKeys } = request;
  const { leadId, identities, order } = reservation;
  const isRepeat = reservation.kind === 'repeated';
  const held = isRepeat ? reservation.held : request.held;
  // Member by member, as the codec of jobs is: a spread with members after it takes as long as a hash.
  const reserved: Submission = {
    id: isRepeat ? reservation.submissionId : submission.id,
    workspaceId: submission.workspaceId,
    linkId: submission.linkId,
    leadId,
    identities,
    order,
    // A receiver's clock may be ahead of Redis's.
    stamp: Math.min(request.stamp ?? order, order),
    source: submission.source,
    lead: submission.lead,
    notes: submission.notes,
    body: submission.body,
    bodyType: submission.bodyType,
  };
  if (submission.page !== undefined) reserved.page = submission.page;
  if (submission.userAgent !== undefined) reserved.userAgent = submission.userAgent;
  if (submission.address !== undefined) reserved.address = submission.address;
  if (submission.consent !== undefined) reserved.consent = submission.consent;
  if (submission.traceparent !== undefined) reserved.traceparent = submission.traceparent;
  // The id itself follows a post through the logs; a repeat has one of its own.
  if (reserved.id !== submission.id) reserved.requestId = submission.id;
  else if (submission.requestId !== undefined) reserved.requestId = submission.requestId;
  if (request.isAnswered === true && leadId !== offeredLeadId)
    reserved.answeredLeadId = offeredLeadId;
  if (held !== undefined) reserved.held = { reason: held, keys: [...identityKeys] };
  if (identities.some(({ owner }) => owner === null)) {
    const code = 'joinLimited' in reservation ? 'not-matched' : 'too-many-identities';
    const unowned = identities.flatMap(({ key, owner }): Note[] =>
      // A key that was left to nobody is told, or the lead would seem to have it.
      owner === null ? [{ field: fieldOf(key), code }] : [],
    );
    reserved.notes = [...submission.notes, ...unowned];
  }
  return reserved;
}

const fieldOf = (key: string): string => (key.startsWith('email:') ? '/email' : '/telephone');
