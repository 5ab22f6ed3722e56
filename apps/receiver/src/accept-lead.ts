import { randomUUID } from 'node:crypto';
import {
  PROBLEMS,
  type BodyType,
  type CaptureLink,
  type Consent,
  type FieldError,
  type Held,
  type Lead,
  type Note,
  type ProblemCode,
  type Submission,
} from '@leadgate/contract';
import type {
  LimitUse,
  RejectedBody,
  Reservation,
  Reserver,
  Spool,
  SpooledSubmission,
} from '@leadgate/intake';
import { parseBody, readLead as readFieldsOf } from '@leadgate/leads';
import type { Producer } from '@leadgate/queue';
import type { ProblemDetails } from './answer.ts';
import type { Breaker } from './breaker.ts';
import { hashBody, takeIdempotencyKey } from './idempotency.ts';
import type { WithinDeadline } from './redis-deadline.ts';
import { judge } from './spam/judge.ts';
import { takeSigns, type Signs } from './spam/take-signs.ts';
import type { VerifyCaptcha } from './spam/verify-captcha.ts';
import type { Strain } from './strain.ts';
import { withinTime } from './within-time.ts';

/** What went wrong: told to operators, and not to the sender in so many words. */
export type Trouble =
  | 'link-not-looked-up'
  /** Redis did not take a lead; it is in the spool. */
  | 'spooled'
  /** Redis did not take a lead; its sender was told to try again. */
  | 'not-enqueued'
  /** Nor did the spool, which should have. */
  | 'not-spooled'
  | 'rejected-not-kept';

/** What a lead is handed to, on its way to being durable. */
export interface Intake {
  reserver: Pick<Reserver, 'reserve'>;
  producer: Pick<Producer, 'enqueue'>;
  /** Keeps posts from waiting for a Redis that has just failed others. */
  breaker: Breaker;
  /** Why nothing should go to Redis now, be it as it may. */
  strain: () => Strain | null;
  /** Where to leave what Redis does not take; null where there is no such place. */
  spool: Pick<Spool, 'append'> | null;
  /** Whether a process that starts without Redis would know a code: others are not spooled. */
  isOnDisk: (code: string) => boolean;
  verifyCaptcha: VerifyCaptcha;
  /** Keeps a refused body for an operator. Best effort. */
  pushRejected: (rejected: RejectedBody) => Promise<void>;
  onTrouble: (trouble: Trouble, error: unknown) => void;
  /** Milliseconds since 1970. */
  clock: () => number;
}

/** One POST to an open link that may post there. */
export interface Post {
  /** UUIDv7. */
  submissionId: string;
  /** The capture code it was sent to. */
  code: string;
  link: CaptureLink;
  limits: LimitUse[];
  bytes: Buffer;
  bodyType: BodyType;
  /** The header Idempotency-Key. */
  idempotencyKey: string | undefined;
  lenient: boolean;
  /** Milliseconds since 1970. */
  receivedAt: number;
  sender: Pick<Submission, 'page' | 'userAgent' | 'address'>;
}

export type Outcome =
  | { kind: 'accepted'; submissionId: string; leadId: string }
  | ({ kind: 'refused'; code: ProblemCode } & ProblemDetails);

/** A lead as read, and all that the reservation needs to know of it. */
interface Reading {
  kind: 'read';
  text: string;
  lead: Lead;
  /** Keys to claim: none of a lead that is held. */
  identities: string[];
  notes: Note[];
  consent?: Consent;
  signs: Signs;
  held?: Held;
  idempotency?: { key: string; bodyHash: string };
}

interface Refusal {
  kind: 'refused';
  code: ProblemCode;
  errors: FieldError[];
  /** The body, for the list of rejected ones; null where there is nothing in it to mend. */
  text: string | null;
}

/**
 * Takes the lead of a post: reads it, reserves its lead id and order, and enqueues it. It is durable
 * when this says `accepted`, and only then. Never rejects because of the body or of Redis.
 */
export async function acceptLead(
  intake: Intake,
  within: WithinDeadline,
  post: Post,
): Promise<Outcome> {
  const reading = readLead(post);
  if (reading.kind === 'read')
    return store(intake, within, post, await holdBack(intake, post, reading));
  if (reading.text !== null) keepRejected(intake, post, reading, reading.text);
  return refused(reading.code, reading.errors.length > 0 ? { errors: reading.errors } : {});
}

function refused(code: ProblemCode, details: ProblemDetails = {}): Outcome {
  return { kind: 'refused', code, ...details };
}

function readLead(post: Post): Reading | Refusal {
  const parsed = parseBody(post.bytes, post.bodyType);
  switch (parsed.kind) {
    case 'empty':
      return { kind: 'refused', code: 'empty-body', errors: [], text: null };
    case 'malformed':
      return { kind: 'refused', code: 'malformed-json', errors: [], text: mendable(parsed.text) };
    case 'too-many-fields':
      return {
        kind: 'refused',
        code: 'invalid-lead',
        errors: [TOO_MANY_FIELDS],
        text: parsed.text,
      };
    case 'parsed':
      return readFields(post, parsed);
  }
}

const TOO_MANY_FIELDS: FieldError = {
  pointer: '',
  code: 'too-many-fields',
  detail: 'A form may have up to 1,000 fields, and one field up to 100 values.',
};

/** A malformed body is kept only while a person could still mend it. */
const MENDABLE_CHARACTERS = 16 * 1024;
const mendable = (text: string): string | null =>
  text.length <= MENDABLE_CHARACTERS ? text : null;

function readFields(
  post: Post,
  { value, text }: { value: unknown; text: string },
): Reading | Refusal {
  const { link } = post;
  const keyed = takeIdempotencyKey(post.idempotencyKey, value);
  const { key } = keyed;
  const { body, signs } = takeSigns(keyed.body, link.guard?.honeypot ?? null);
  const reading = readFieldsOf(body, link, { lenient: post.lenient, now: post.receivedAt });
  if (key.kind === 'invalid') {
    const errors = [key.error, ...(reading.kind === 'refused' ? reading.errors : [])];
    return { kind: 'refused', code: 'invalid-lead', errors, text };
  }
  if (reading.kind === 'refused') return { ...reading, text };
  return {
    ...reading,
    text,
    signs,
    ...(key.kind === 'key' && { idempotency: { key: key.key, bodyHash: hashBody(body, text) } }),
  };
}

/** What is caught as spam goes the way of any other, and claims nobody's email or phone. */
async function holdBack(intake: Intake, { link }: Post, reading: Reading): Promise<Reading> {
  const verdict = await judge(link.guard, reading.signs, intake.verifyCaptcha);
  switch (verdict.kind) {
    case 'taken':
      return reading;
    case 'taken-unchecked':
      return { ...reading, notes: [...reading.notes, { field: '', code: 'captcha-unchecked' }] };
    case 'held':
      return {
        ...reading,
        identities: [],
        held: { reason: verdict.reason, keys: reading.identities },
      };
  }
}

/**
 * A repeat under the same key is what it was the first time, whatever is thought of it now: held
 * where nothing had been claimed for it though there was something to claim, else taken.
 */
function asFirstJudged({ held, ...reading }: Reading, claimed: readonly unknown[]): Reading {
  if (claimed.length > 0) return reading;
  const keys = held?.keys ?? reading.identities;
  const reason = held?.reason ?? 'repeated';
  return held !== undefined || keys.length > 0 ? { ...reading, held: { reason, keys } } : reading;
}

async function store(
  intake: Intake,
  within: WithinDeadline,
  post: Post,
  reading: Reading,
): Promise<Outcome> {
  const start = performance.now();
  const offeredLeadId = randomUUID();
  const keepUnreserved = (error: unknown, code = codeOf(error)) =>
    keepSafe(intake, post, unreserved(post, reading, offeredLeadId, intake.clock()), {
      error,
      code,
      start,
    });
  const strain = intake.strain();
  if (strain !== null) return keepUnreserved(new Error(strain.reason), strain.code);
  try {
    const outcome = await intake.breaker.run(async () => {
      const reservation = await within(
        intake.reserver.reserve({
          submissionId: post.submissionId,
          workspaceId: post.link.workspaceId,
          linkId: post.link.linkId,
          offeredLeadId,
          identityKeys: reading.identities,
          ...(reading.idempotency && { idempotency: reading.idempotency }),
          limits: post.limits,
        }),
      );
      return reservation.kind === 'behind'
        ? reservation
        : enqueue(intake, within, post, reading, reservation);
    });
    return outcome.kind === 'behind'
      ? keepUnreserved(new Error('Redis is behind: it has to be refilled first'))
      : outcome;
  } catch (error) {
    if (!(error instanceof NotEnqueued)) return keepUnreserved(error);
    const { submission, cause } = error;
    const kept = { submission, reserved: true };
    return keepSafe(intake, post, kept, { error: cause, code: codeOf(cause), start });
  }
}

/** Carries the submission as it was reserved, under which it has to be enqueued later. */
class NotEnqueued extends Error {
  override readonly name = 'NotEnqueued';
  readonly submission: Submission;

  constructor(submission: Submission, cause: unknown) {
    super('a reserved submission was not enqueued', { cause });
    this.submission = submission;
  }
}

/** Rejects with NotEnqueued. */
async function enqueue(
  intake: Intake,
  within: WithinDeadline,
  post: Post,
  reading: Reading,
  reservation: Exclude<Reservation, { kind: 'behind' }>,
): Promise<Outcome> {
  switch (reservation.kind) {
    case 'limited':
      return refused('rate-limited', { retryAfterSeconds: reservation.retryAfterSeconds });
    case 'key-reused':
      keepRejected(intake, post, { code: 'idempotency-key-reused', errors: [] }, reading.text);
      return refused('idempotency-key-reused');
    case 'reserved':
    case 'repeated': {
      // A repeat is enqueued again before it is answered: whoever reserved it first may have died
      // before enqueuing. Its stored id makes it the same job.
      const id = reservation.kind === 'repeated' ? reservation.submissionId : post.submissionId;
      const judged =
        reservation.kind === 'repeated' ? asFirstJudged(reading, reservation.identities) : reading;
      const submission = toSubmission(post, judged, reservation, id);
      try {
        await within(intake.producer.enqueue(submission));
      } catch (error) {
        throw new NotEnqueued(submission, error);
      }
      return { kind: 'accepted', submissionId: id, leadId: reservation.leadId };
    }
  }
}

/** A full Redis is one that has too much to do. */
function codeOf(error: unknown): Strain['code'] {
  if (!(error instanceof Error)) return 'unavailable';
  if (/(^|: )OOM /.test(error.message)) return 'overloaded';
  return error.cause === undefined ? 'unavailable' : codeOf(error.cause);
}

/** A sender has its answer within a second; most of it may have gone to waiting for Redis. */
const ANSWER_WITHIN_MS = 1_000;
const LEAST_SPOOL_MS = 300;

/**
 * Where a submission goes that Redis did not take, or may not have taken: to the spool, under the ids
 * it has, or else back to its sender, to try again.
 */
async function keepSafe(
  intake: Intake,
  post: Post,
  spooled: SpooledSubmission,
  why: { error: unknown; code: Strain['code']; start: number },
): Promise<Outcome> {
  const { id, leadId } = spooled.submission;
  if (intake.spool !== null && intake.isOnDisk(post.code)) {
    const left = ANSWER_WITHIN_MS - (performance.now() - why.start);
    try {
      const kept = await withinTime(
        intake.spool.append(spooled),
        Math.max(LEAST_SPOOL_MS, left),
        'the disk of the spool did not answer in time',
      );
      if (kept === 'kept') {
        intake.onTrouble('spooled', why.error);
        return { kind: 'accepted', submissionId: id, leadId };
      }
      intake.onTrouble('not-spooled', new Error('the spool is full'));
    } catch (error) {
      intake.onTrouble('not-spooled', error);
    }
  }
  intake.onTrouble('not-enqueued', why.error);
  return refused(why.code);
}

/** As if nobody had been known; the reservation follows when the spool is drained. */
function unreserved(
  post: Post,
  reading: Reading,
  offeredLeadId: string,
  now: number,
): SpooledSubmission {
  const asIfNew = {
    leadId: offeredLeadId,
    identities: reading.identities.map((key) => ({ key, owner: offeredLeadId })),
    order: now * 1_000,
  };
  return {
    submission: toSubmission(post, reading, asIfNew, post.submissionId),
    reserved: false,
    ...(reading.idempotency && { idempotency: reading.idempotency }),
  };
}

function toSubmission(
  post: Post,
  reading: Reading,
  reserved: Pick<Submission, 'leadId' | 'identities' | 'order'>,
  id: string,
): Submission {
  return {
    id,
    workspaceId: post.link.workspaceId,
    linkId: post.link.linkId,
    leadId: reserved.leadId,
    identities: reserved.identities,
    order: reserved.order,
    stamp: reserved.order,
    source: 'post',
    lead: reading.lead,
    notes: reading.notes,
    ...(reading.consent && { consent: reading.consent }),
    ...(reading.held && { held: reading.held }),
    body: storable(reading.text),
    bodyType: post.bodyType,
    ...post.sender,
    // The id itself follows a post through the logs; a repeat has one of its own.
    ...(id !== post.submissionId && { requestId: post.submissionId }),
  };
}

function keepRejected(
  intake: Intake,
  post: Post,
  why: { code: ProblemCode; errors: FieldError[] },
  text: string,
): void {
  const { code } = why;
  const { linkId, workspaceId } = post.link;
  intake
    .pushRejected({
      id: post.submissionId,
      workspaceId,
      linkId,
      stamp: post.receivedAt * 1_000,
      code,
      errors:
        why.errors.length > 0 ? why.errors : [{ pointer: '', code, detail: PROBLEMS[code].title }],
      body: storable(text),
      bodyType: post.bodyType,
      ...post.sender,
    })
    .catch((error: unknown) => intake.onTrouble('rejected-not-kept', error));
}

/** Postgres text cannot hold U+0000. In a JSON body it can only stand where it is an error. */
const storable = (text: string): string => text.replaceAll('\0', '\ufffd');
