import type { HeldReason, Note, Submission } from '@leadgate/contract';
import type { LimitUse } from './reservation/limits.ts';
import type { Reservation, ReservationRequest, Reserver } from './reservation/reserver.ts';
import { withinTime } from '@leadgate/boot';
import {
  BrokenCircuitError,
  circuitBreaker,
  CircuitState,
  ConsecutiveBreaker,
  handleAll,
} from 'cockatiel';
import type { SpooledSubmission } from './spool/segment.ts';
import type { Spool } from './spool/spool.ts';

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

/** Redis was not asked: it has failed just before. */
export class RedisAvoided extends Error {
  override readonly name = 'RedisAvoided';
  constructor(cause: unknown) {
    super('Redis was not asked, as it has just failed', { cause });
  }
}

export interface Breaker {
  /**
   * Runs what asks Redis. After five failures in a row it rejects with RedisAvoided instead, at once,
   * and lets one through every half second to see whether Redis is back.
   */
  run<T>(ask: () => Promise<T>): Promise<T>;
}

const FAILURES = 5;
const TRY_AGAIN_AFTER_MS = 500;

export function createBreaker(): Breaker {
  let lastFailure: unknown;
  const circuit = circuitBreaker(handleAll, {
    breaker: new ConsecutiveBreaker(FAILURES),
    halfOpenAfter: TRY_AGAIN_AFTER_MS,
  });
  circuit.onFailure(({ reason }) => {
    lastFailure = 'error' in reason ? reason.error : undefined;
  });
  return {
    async run(ask) {
      // Asked first, as it would have the others wait for the one that tries.
      if (circuit.state === CircuitState.HalfOpen) throw new RedisAvoided(lastFailure);
      try {
        return await circuit.execute(ask);
      } catch (error) {
        throw error instanceof BrokenCircuitError ? new RedisAvoided(lastFailure) : error;
      }
    },
  };
}

/** Redis did not answer within the time a request may wait for it. */
export class RedisLate extends Error {
  override name = 'RedisLate';
  constructor() {
    super('Redis did not answer in time');
  }
}

/** Waits for an answer of Redis; rejects with RedisLate when the request's time is used up. */
export type WithinDeadline = <T>(answer: Promise<T>) => Promise<T>;

/** Node keeps a list of timers for each length: requests that differ by less share one. */
const STEP_MS = 10;

/**
 * One allowance of time for all that a request asks of Redis. Only waiting counts: the time a slow
 * sender takes for its body does not. An answer that comes too late is dropped, whatever it is.
 */
export function createRedisDeadline(allowanceMs: number): WithinDeadline {
  let leftMs = allowanceMs;
  return (answer) => {
    const start = performance.now();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        // After what has come in meanwhile: timers are first after the process stood still for a moment.
        () => setImmediate(() => reject(new RedisLate())),
        Math.ceil(leftMs / STEP_MS) * STEP_MS,
      );
      timer.unref();
      const settled = (): void => {
        clearTimeout(timer);
        leftMs -= performance.now() - start;
      };
      answer.then(
        (value) => {
          settled();
          resolve(value);
        },
        (error: unknown) => {
          settled();
          reject(error instanceof Error ? error : new Error('Redis failed'));
        },
      );
    });
  };
}

/** Why no further submission should go to Redis now. */
export interface Backpressure {
  code: 'overloaded' | 'unavailable';
  reason: string;
}

/** What went wrong on the way: told to operators, and not to the sender in so many words. */
export type AcceptFailure =
  /** Redis did not take a submission; it is in the spool. */
  | 'spooled'
  /** Redis did not take a submission; its sender was told to try again. */
  | 'not-enqueued'
  /** Nor did the spool, which should have. */
  | 'not-spooled';

/** An intake that has somewhere else to leave what Redis does not take. */
export interface IntakeWithSpool extends Intake {
  /** Keeps posts from waiting for a Redis that has just failed others. */
  breaker: Breaker;
  backpressure: () => Backpressure | null;
  /** Null if there is no such place. */
  spool: Pick<Spool, 'append'> | null;
  onFailure: (failure: AcceptFailure, error: unknown) => void;
  /** Milliseconds since 1970. */
  clock: () => number;
}

/** `unavailable`, `overloaded`: it is durable nowhere; its sender is to try again. */
type AcceptOutcome =
  | Exclude<Acceptance, { kind: 'accepted' | 'behind' }>
  | (Extract<Acceptance, { kind: 'accepted' }> & { spooled?: true })
  | { kind: Backpressure['code'] };

/** A sender has its answer within a second; most of it may have gone to waiting for Redis. */
const ANSWER_WITHIN_MS = 1_000;
const LEAST_SPOOL_MS = 300;

/**
 * Accepts a submission, and leaves it in the spool, under the ids that are answered, if Redis does not
 * take it, or may not have taken it, or should not be asked. It is durable when this says `accepted`.
 * `maySpool`: whether a process that starts without Redis would know its link. Never rejects because
 * of Redis.
 */
export async function acceptOrSpool(
  intake: IntakeWithSpool,
  request: AcceptRequest,
  { within, maySpool }: { within: WithinDeadline; maySpool: () => boolean },
): Promise<AcceptOutcome> {
  const start = performance.now();
  const spoolUnreserved = (error: unknown, code = codeOf(error)): Promise<AcceptOutcome> =>
    keep(asIfNew(request, intake.clock()), error, code);
  const pressure = intake.backpressure();
  if (pressure !== null) return spoolUnreserved(new Error(pressure.reason), pressure.code);
  try {
    const acceptance = await intake.breaker.run(() => accept(intake, request, within));
    return acceptance.kind === 'behind'
      ? spoolUnreserved(new Error('Redis is behind: it has to be refilled first'))
      : acceptance;
  } catch (error) {
    if (error instanceof NotHeld) {
      // In the spool it would be answered 202, which it must not be.
      intake.onFailure('not-enqueued', error.cause);
      return { kind: codeOf(error) };
    }
    if (!(error instanceof NotEnqueued)) return spoolUnreserved(error);
    const { submission, cause } = error;
    return keep({ submission, reserved: true }, cause, codeOf(cause));
  }

  async function keep(
    spooled: SpooledSubmission,
    error: unknown,
    code: Backpressure['code'],
  ): Promise<AcceptOutcome> {
    if (intake.spool !== null && maySpool()) {
      const left = ANSWER_WITHIN_MS - (performance.now() - start);
      try {
        const kept = await withinTime(
          intake.spool.append(spooled),
          Math.max(LEAST_SPOOL_MS, left),
          'the disk of the spool did not answer in time',
        );
        if (kept === 'kept') {
          intake.onFailure('spooled', error);
          const { id: submissionId, leadId } = spooled.submission;
          return { kind: 'accepted', submissionId, leadId, spooled: true };
        }
        intake.onFailure('not-spooled', new Error('the spool is full'));
      } catch (failure) {
        intake.onFailure('not-spooled', failure);
      }
    }
    intake.onFailure('not-enqueued', error);
    return { kind: code };
  }
}

/** A full Redis is one that has too much to do. */
function codeOf(error: unknown): Backpressure['code'] {
  if (!(error instanceof Error)) return 'unavailable';
  if (/(^|: )OOM /.test(error.message)) return 'overloaded';
  return error.cause === undefined ? 'unavailable' : codeOf(error.cause);
}

/** As if nobody had been known; the reservation follows when the spool is drained. */
function asIfNew(
  { submission, offeredLeadId, identityKeys, held, idempotency, stamp }: AcceptRequest,
  now: number,
): SpooledSubmission {
  const order = now * 1_000;
  const keys = [...identityKeys];
  return {
    submission: {
      ...submission,
      leadId: offeredLeadId,
      identities: held === undefined ? keys.map((key) => ({ key, owner: offeredLeadId })) : [],
      order,
      stamp: Math.min(stamp ?? order, order),
      ...(held !== undefined && { held: { reason: held, keys } }),
    },
    reserved: false,
    ...(idempotency !== undefined && { idempotency }),
  };
}
