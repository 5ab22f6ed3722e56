import { withinTime } from '@leadgate/boot';
import {
  BrokenCircuitError,
  circuitBreaker,
  CircuitState,
  ConsecutiveBreaker,
  handleAll,
} from 'cockatiel';
import type { SpooledSubmission } from '../spool/record.ts';
import type { Spool } from '../spool/spool.ts';
import {
  accept,
  type Acceptance,
  type AcceptRequest,
  type Intake,
  NotEnqueued,
  NotHeld,
} from './accept.ts';

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
