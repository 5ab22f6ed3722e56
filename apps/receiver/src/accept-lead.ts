import { randomUUID } from 'node:crypto';
import { traceparent } from '@leadgate/boot';
import type { IncomingHttpHeaders } from 'node:http';
import {
  type CaptureLink,
  type Consent,
  type FieldError,
  type HeldReason,
  type Lead,
  type LinkProof,
  type Note,
  type ProblemCode,
  PROBLEMS,
  type RejectedBody,
  type RowReceipt,
  type Submission,
} from '@leadgate/contract';
import {
  acceptOrSpool,
  type AcceptFailure,
  type AcceptRequest,
  type IntakeWithSpool,
  type LimitUse,
  MAX_WEIGHT,
  type WithinDeadline,
} from '@leadgate/intake';
import {
  jsonText,
  keptBody,
  parseBody,
  type ParsedBody,
  readSent,
  rowsOf,
  type Signs,
  soleItem,
  takeSigns,
} from '@leadgate/leads';
import type { ProblemDetails } from './answer.ts';
import { checkForSpam, TAKEN, type Verdict, type VerifyCaptcha } from './spam.ts';
import { type BodyText, hashBody, takeIdempotencyKey } from './body.ts';
import { provenBody } from './proof.ts';
import type { OpenSecret } from './secrets.ts';
import { submissionId } from './server.ts';

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
  /** `leads`: what became of each row of a list; the ids are of the first that was accepted. */
  | {
      kind: 'accepted';
      submissionId: string;
      leadId: string;
      spooled?: true;
      leads?: RowReceipt[];
    }
  /** `uses`: what it takes of its limits, if more than its size says. */
  | ({ kind: 'refused'; code: ProblemCode; uses?: number } & ProblemDetails);

/** A lead as read, and all that the reservation needs to know of it. */
interface ReadPost {
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
export function acceptLead(intake: Intake, within: WithinDeadline, post: Post): Promise<Outcome> {
  const { proof } = post.link;
  if (proof === undefined) return acceptProven(intake, within, post);
  return acceptSigned(intake, within, post, proof);
}

async function acceptSigned(
  intake: Intake,
  within: WithinDeadline,
  post: Post,
  proof: LinkProof,
): Promise<Outcome> {
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
  const { link } = post;
  const parsed = parse(post.body);
  if (parsed.kind === 'refused') return turnAway(intake, post, parsed);
  const rows = link.mapping === undefined ? null : rowsOf(parsed.value, link.mapping);
  if (rows !== null) return acceptRows(intake, within, post, { rows, notes: parsed.notes });
  const { notes } = parsed;
  const reading = readFields(post, { value: soleItem(parsed.value, link), notes });
  return reading.kind === 'read'
    ? store(intake, within, post, reading)
    : turnAway(intake, post, reading);
}

function turnAway(intake: Intake, post: Post, refusal: Refusal): Outcome {
  if (refusal.kept !== null) keepRejected(intake, post, refusal, refusal.kept);
  return refused(refusal.code, refusal.errors.length > 0 ? { errors: refusal.errors } : {});
}

/** Rows of one post: their uses of a limit are counted as one. */
const MOST_ROWS = MAX_WEIGHT;

/** The sender has to send all of it again: nothing of it was taken, or not all of it is durable. */
const isForAll = (outcome: Outcome): boolean =>
  outcome.kind === 'refused' &&
  ['rate-limited', 'unavailable', 'overloaded'].includes(outcome.code);

/**
 * Takes each row of a list as a post of its own (decision 75). What is wrong with one does not keep the
 * others: a program that is refused sends all of them again, or none. It is kept to be mended.
 */
async function acceptRows(
  intake: Intake,
  within: WithinDeadline,
  post: Post,
  { rows, notes }: { rows: readonly unknown[]; notes: Note[] },
): Promise<Outcome> {
  if (rows.length > MOST_ROWS)
    return turnAway(intake, post, {
      ...{ kind: 'refused', code: 'invalid-lead', errors: [TOO_MANY_ROWS], kept: post.body },
    });
  const listHash = post.idempotencyKey?.trim() ? hashBody(rows, post.body.text) : null;
  const all = rows.map((row, at) => {
    const text = jsonText(row);
    const own: Post = {
      ...post,
      submissionId: at === 0 ? post.submissionId : submissionId(),
      body: { kind: 'read', text: text ?? '', type: 'json', notes: post.body.notes },
    };
    const reading: ReadPost | Refusal =
      text === null
        ? { kind: 'refused', code: 'invalid-lead', errors: [TOO_DEEP], kept: null }
        : readFields(own, { value: row, notes });
    if (listHash !== null && reading.kind === 'read' && reading.idempotency !== undefined) {
      const { key } = reading.idempotency;
      // No key of a sender has a line break in it.
      reading.idempotency = { key: at === 0 ? key : `${key}\n${at}`, bodyHash: listHash };
    }
    return { post: own, reading };
  });
  let first: Promise<Outcome> | undefined;
  const outcomes = await Promise.all(
    all.map(async ({ post: own, reading }): Promise<Outcome> => {
      if (reading.kind === 'refused') return refused(reading.code, { errors: reading.errors });
      if (first === undefined) {
        // For all of them, so that none is taken of a list that is over a limit.
        const limits = own.limits.map(({ weight = 1, ...use }) => ({
          ...use,
          weight: Math.max(weight, rows.length),
        }));
        return (first = store(intake, within, { ...own, limits }, reading));
      }
      const before = await first;
      return isForAll(before) ? before : store(intake, within, { ...own, limits: [] }, reading);
    }),
  );
  const again = outcomes.find(isForAll);
  if (again !== undefined) return again;
  for (const { post: own, reading } of all)
    if (reading.kind === 'refused' && reading.kept !== null)
      keepRejected(intake, own, reading, reading.kept);
  const leads = outcomes.map((outcome): RowReceipt =>
    outcome.kind === 'accepted'
      ? { leadId: outcome.leadId, submissionId: outcome.submissionId }
      : { code: outcome.code, errors: outcome.errors ?? [] },
  );
  const accepted = outcomes.filter((outcome) => outcome.kind === 'accepted');
  const [one] = accepted;
  if (one === undefined) return noneOf(outcomes);
  const spooled = accepted.some((outcome) => outcome.spooled === true);
  return { ...one, ...(spooled && { spooled }), leads };
}

/** What a list is answered of which no row was accepted. */
function noneOf(outcomes: readonly Outcome[]): Outcome {
  const codes = new Set(outcomes.map((row) => (row.kind === 'refused' ? row.code : null)));
  const [code] = codes;
  const errors = outcomes.flatMap((row, at) =>
    row.kind === 'refused' && row.errors !== undefined
      ? row.errors.map((error) => ({ ...error, pointer: `/${at}${error.pointer}` }))
      : [],
  );
  return {
    ...{ kind: 'refused', code: codes.size === 1 && code != null ? code : 'invalid-lead' },
    ...{ errors, uses: outcomes.length },
  };
}

const TOO_MANY_ROWS: FieldError = {
  ...{ pointer: '', code: 'too-many-leads', detail: `Send up to ${MOST_ROWS} leads a post.` },
};

const TOO_DEEP: FieldError = {
  ...{ pointer: '', code: 'too-deep', detail: 'It is nested deeper than any lead.' },
};

function refused(code: ProblemCode, details: ProblemDetails = {}): Outcome {
  return { kind: 'refused', code, ...details };
}

function parse(body: BodyText): Extract<ParsedBody, { kind: 'parsed' }> | Refusal {
  const parsed = parseBody(body.text, body.type);
  switch (parsed.kind) {
    case 'empty':
      return { kind: 'refused', code: 'empty-body', errors: [], kept: null };
    case 'malformed':
      return { kind: 'refused', code: 'malformed-json', errors: [], kept: mendable(body) };
    case 'too-many-fields':
      return { kind: 'refused', code: 'invalid-lead', errors: [TOO_MANY_FIELDS], kept: body };
    case 'parsed':
      return parsed;
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
  { value, notes }: { value: unknown; notes: Note[] },
): ReadPost | Refusal {
  const { link, body: received } = post;
  const { text } = received;
  const keyed = takeIdempotencyKey(post.idempotencyKey, value);
  const { key } = keyed;
  const { body, signs } = takeSigns(keyed.body, link.guard?.honeypot ?? null);
  const reading = readSent(body, link, {
    lenient: post.lenient,
    now: post.receivedAt,
    isForm: received.type === 'form',
  });
  // What a mapping reads may stand under any key, and may be another mapping's tomorrow.
  const kept =
    link.mapping === undefined
      ? keptBody(received, value)
      : { text, type: received.type, notes: [] };
  if (key.kind === 'invalid') {
    const errors = [key.error, ...(reading.kind === 'refused' ? reading.errors : [])];
    return { kind: 'refused', code: 'invalid-lead', errors, kept };
  }
  if (reading.kind === 'refused') return { ...reading, kept };
  // Member by member, here and in what follows: each post is made anew several times on its way.
  const read: ReadPost = {
    kind: 'read',
    lead: reading.lead,
    identities: reading.identities,
    notes: received.notes.concat(notes, reading.notes, kept.notes),
    signs,
    kept,
  };
  if (reading.consent !== undefined) read.consent = reading.consent;
  if (reading.held !== undefined) read.held = reading.held;
  if (key.kind === 'key') read.idempotency = { key: key.key, bodyHash: hashBody(body, text) };
  return read;
}

async function store(
  intake: Intake,
  within: WithinDeadline,
  post: Post,
  reading: ReadPost,
): Promise<Outcome> {
  const { linkId, workspaceId, guard } = post.link;
  const { signs, held, kept, notes } = reading;
  // Nothing is waited for if nothing is asked.
  const verdict: Verdict =
    held !== undefined
      ? { kind: 'held', reason: held }
      : guard === undefined
        ? TAKEN
        : await checkForSpam(guard, signs, intake.verifyCaptcha);
  if (verdict.kind === 'taken-unchecked') notes.push({ field: '', code: 'captcha-unchecked' });
  const submission: AcceptRequest['submission'] = {
    id: post.submissionId,
    workspaceId,
    linkId,
    source: 'post',
    lead: reading.lead,
    notes,
    body: storable(kept.text),
    bodyType: kept.type,
  };
  const { page, userAgent, address } = post.sender;
  if (page !== undefined) submission.page = page;
  if (userAgent !== undefined) submission.userAgent = userAgent;
  if (address !== undefined) submission.address = address;
  if (reading.consent !== undefined) submission.consent = reading.consent;
  const trace = traceparent();
  if (trace !== undefined) submission.traceparent = trace;
  const request: AcceptRequest = {
    submission,
    offeredLeadId: randomUUID(),
    identityKeys: reading.identities,
    limits: post.limits,
    joinLimit: post.joinLimit,
  };
  if (signs.ageMs !== null) request.stamp = (post.receivedAt - signs.ageMs) * 1_000;
  if (verdict.kind === 'held') request.held = verdict.reason;
  if (reading.idempotency !== undefined) request.idempotency = reading.idempotency;
  const maySpool = (): boolean => intake.isOnDisk(post.code);
  const acceptance = await acceptOrSpool(intake, request, { within, maySpool });
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
const storable = (text: string): string =>
  text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text;
