import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import {
  type CaptureLink,
  type Consent,
  type FieldError,
  type HeldReason,
  type Lead,
  type Note,
  type ProblemCode,
  PROBLEMS,
  type Submission,
} from '@leadgate/contract';
import {
  acceptOrSpool,
  type AcceptFailure,
  type IntakeWithSpool,
  type LimitUse,
  type RejectedBody,
  type WithinDeadline,
} from '@leadgate/intake';
import { keptBody, parseBody, readSent, type Signs, soleItem, takeSigns } from '@leadgate/leads';
import type { ProblemDetails } from './answer.ts';
import type { VerifyCaptcha } from './captcha.ts';
import { hashBody, takeIdempotencyKey } from './idempotency.ts';
import type { BodyText } from './body.ts';
import { provenBody } from './proof.ts';
import type { OpenSecret } from './secrets.ts';
import { checkForSpam, type Verdict } from './spam.ts';

/** What went wrong: told to operators, and not to the sender in so many words. */
export type IntakeFailure =
  AcceptFailure | 'link-not-looked-up' | 'rejected-not-kept' | 'secret-not-read';

/** What a lead is handed to, on its way to being durable. */
export interface Intake extends IntakeWithSpool {
  /** Whether a process that starts without Redis would know a code: others are not spooled. */
  isOnDisk: (code: string) => boolean;
  verifyCaptcha: VerifyCaptcha;
  openSecret: OpenSecret;
  /** Keeps a refused body for an operator. Best effort. */
  pushRejected: (rejected: RejectedBody) => Promise<void>;
  onFailure: (failure: IntakeFailure, error: unknown) => void;
}

/** One POST to an open link that may post there. */
export interface Post {
  /** UUIDv7. */
  submissionId: string;
  /** The capture code it was sent to. */
  code: string;
  link: CaptureLink;
  limits: LimitUse[];
  joinLimit: LimitUse;
  body: BodyText;
  headers: IncomingHttpHeaders;
  /** The header Idempotency-Key. */
  idempotencyKey: string | undefined;
  lenient: boolean;
  /** Milliseconds since 1970. */
  receivedAt: number;
  sender: Pick<Submission, 'page' | 'userAgent' | 'address'>;
}

export type Outcome =
  | { kind: 'accepted'; submissionId: string; leadId: string; spooled?: true }
  | ({ kind: 'refused'; code: ProblemCode } & ProblemDetails);

/** A lead as read, and all that the reservation needs to know of it. */
interface Reading {
  kind: 'read';
  lead: Lead;
  identities: string[];
  notes: Note[];
  consent?: Consent;
  held?: HeldReason;
  signs: Signs;
  kept: KeptBody;
  idempotency?: { key: string; bodyHash: string };
}

/** A body as it is kept. */
type KeptBody = Pick<BodyText, 'text' | 'type'>;

interface Refusal {
  kind: 'refused';
  code: ProblemCode;
  errors: FieldError[];
  /** The body, for the list of rejected ones; null if there is nothing in it to mend. */
  kept: KeptBody | null;
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
  const { proof } = post.link;
  if (proof === undefined) return acceptProven(intake, within, post);
  const secret = intake.openSecret(proof.secret);
  // Its sender tries again, and an operator is told.
  if (secret === null) return refused('unavailable');
  const { body, headers, receivedAt: now } = post;
  const proven = provenBody({ ...proof, secret }, { body, headers, now });
  // What is not proven is not kept.
  if (proven === null) return refused('sender-not-proven');
  return acceptProven(intake, within, { ...post, body: proven });
}

async function acceptProven(intake: Intake, within: WithinDeadline, post: Post): Promise<Outcome> {
  const reading = readLead(post);
  if (reading.kind === 'read') return store(intake, within, post, reading);
  if (reading.kept !== null) keepRejected(intake, post, reading, reading.kept);
  return refused(reading.code, reading.errors.length > 0 ? { errors: reading.errors } : {});
}

function refused(code: ProblemCode, details: ProblemDetails = {}): Outcome {
  return { kind: 'refused', code, ...details };
}

function readLead(post: Post): Reading | Refusal {
  const { text, type } = post.body;
  const parsed = parseBody(text, type);
  switch (parsed.kind) {
    case 'empty':
      return { kind: 'refused', code: 'empty-body', errors: [], kept: null };
    case 'malformed':
      return { kind: 'refused', code: 'malformed-json', errors: [], kept: mendable(post.body) };
    case 'too-many-fields':
      return { kind: 'refused', code: 'invalid-lead', errors: [TOO_MANY_FIELDS], kept: post.body };
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
const mendable = (body: BodyText): KeptBody | null =>
  body.text.length <= MENDABLE_CHARACTERS ? body : null;

function readFields(
  post: Post,
  { value: sent, notes }: { value: unknown; notes: Note[] },
): Reading | Refusal {
  const { link, body: received } = post;
  const { text } = received;
  const value = soleItem(sent, link);
  const keyed = takeIdempotencyKey(post.idempotencyKey, value);
  const { key } = keyed;
  const { body, signs } = takeSigns(keyed.body, link.guard?.honeypot ?? null);
  const reading = readSent(body, link, {
    lenient: post.lenient,
    now: post.receivedAt,
    isForm: received.type === 'form',
  });
  // What a mapping reads may stand under any key, and may be another mapping's tomorrow.
  const kept = link.mapping === undefined ? keptBody(received, value) : { ...received, notes: [] };
  if (key.kind === 'invalid') {
    const errors = [key.error, ...(reading.kind === 'refused' ? reading.errors : [])];
    return { kind: 'refused', code: 'invalid-lead', errors, kept };
  }
  if (reading.kind === 'refused') return { ...reading, kept };
  return {
    ...reading,
    kept,
    notes: [...received.notes, ...notes, ...reading.notes, ...kept.notes],
    signs,
    ...(key.kind === 'key' && { idempotency: { key: key.key, bodyHash: hashBody(body, text) } }),
  };
}

async function store(
  intake: Intake,
  within: WithinDeadline,
  post: Post,
  reading: Reading,
): Promise<Outcome> {
  const { linkId, workspaceId, guard } = post.link;
  const verdict: Verdict =
    reading.held === undefined
      ? await checkForSpam(guard, reading.signs, intake.verifyCaptcha)
      : { kind: 'held', reason: reading.held };
  const { ageMs } = reading.signs;
  const notes = [...reading.notes];
  if (verdict.kind === 'taken-unchecked') notes.push({ field: '', code: 'captcha-unchecked' });
  const { lead, consent, idempotency, identities: identityKeys } = reading;
  const acceptance = await acceptOrSpool(
    intake,
    {
      submission: {
        id: post.submissionId,
        workspaceId,
        linkId,
        source: 'post',
        lead,
        notes,
        ...(consent && { consent }),
        body: storable(reading.kept.text),
        bodyType: reading.kept.type,
        ...post.sender,
      },
      offeredLeadId: randomUUID(),
      identityKeys,
      ...(ageMs !== null && { stamp: (post.receivedAt - ageMs) * 1_000 }),
      ...(verdict.kind === 'held' && { held: verdict.reason }),
      ...(idempotency && { idempotency }),
      limits: post.limits,
      joinLimit: post.joinLimit,
    },
    { within, maySpool: () => intake.isOnDisk(post.code) },
  );
  switch (acceptance.kind) {
    case 'accepted':
      return acceptance;
    case 'limited':
      return refused('rate-limited', { retryAfterSeconds: acceptance.retryAfterSeconds });
    case 'key-reused':
      return refused('idempotency-key-reused');
    case 'unavailable':
    case 'overloaded':
      return refused(acceptance.kind);
  }
}

function keepRejected(
  intake: Intake,
  post: Post,
  why: { code: ProblemCode; errors: FieldError[] },
  { text, type }: KeptBody,
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
      bodyType: type,
      ...post.sender,
    })
    .catch((error: unknown) => intake.onFailure('rejected-not-kept', error));
}

/** Postgres text cannot hold U+0000. In a JSON body it can only stand where it is an error. */
const storable = (text: string): string => text.replaceAll('\0', '\ufffd');
