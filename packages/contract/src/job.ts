import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { Consent, Lead, Note, Held, type Submission } from './submission.ts';

/**
 * A submission as a job or a spool carries it. Short names, and the lead as a JSON Merge Patch
 * (RFC 7396) over the body as sent: a waiting lead costs Redis memory during a spike, and most
 * fields are normal as sent. Whoever carries it says which version it is.
 */
const EncodedSubmission = Type.Object({
  id: Type.String(),
  w: Type.String({ description: 'workspace id' }),
  k: Type.String({ description: 'link id' }),
  l: Type.String({ description: 'lead id' }),
  a: Type.Optional(Type.String({ description: 'answered lead id, where another' })),
  i: Type.Array(
    Type.Tuple([Type.String(), Type.Union([Type.String(), Type.Null(), Type.Literal(0)])]),
    { description: 'identities: key and owner; 0 stands for the lead itself' },
  ),
  o: Type.Integer({ description: 'order' }),
  s: Type.Optional(Type.Integer({ description: 'stamp, where it is not the order' })),
  src: Type.Optional(Type.Union([Type.Literal('import'), Type.Literal('withdrawal')])),
  b: Type.String({ description: 'body as sent' }),
  f: Type.Optional(Type.Literal(1, { description: 'the body is a form' })),
  p: Type.Record(Type.String(), Type.Unknown(), { description: 'merge patch from body to lead' }),
  n: Type.Optional(Type.Array(Note)),
  c: Type.Optional(Consent),
  h: Type.Optional(Held),
  pg: Type.Optional(Type.String({ description: 'page' })),
  ua: Type.Optional(Type.String({ description: 'user agent' })),
  ip: Type.Optional(Type.String({ description: 'address' })),
  r: Type.Optional(Type.String({ description: 'request id' })),
  t: Type.Optional(Type.String({ description: 'traceparent' })),
});
export type EncodedSubmission = Static<typeof EncodedSubmission>;

const compiledSubmission = Compile(EncodedSubmission);
const compiledLead = Compile(Lead);

/** A submission in its short form. Member by member: it is made for every post. */
export function encodeSubmission(submission: Submission): EncodedSubmission {
  const { leadId, order, stamp, source, body, lead, notes } = submission;
  const isForm = submission.bodyType === 'form';
  const encoded: EncodedSubmission = {
    id: submission.id,
    w: submission.workspaceId,
    k: submission.linkId,
    l: leadId,
    i: submission.identities.map(({ key, owner }) => [key, owner === leadId ? 0 : owner]),
    o: order,
    b: body,
    p: diffMergePatch(baseOf(body, isForm), lead),
  };
  if (submission.answeredLeadId !== undefined) encoded.a = submission.answeredLeadId;
  if (stamp !== order) encoded.s = stamp;
  if (source !== 'post') encoded.src = source;
  if (isForm) encoded.f = 1;
  if (notes.length > 0) encoded.n = notes;
  if (submission.consent !== undefined) encoded.c = submission.consent;
  if (submission.held !== undefined) encoded.h = submission.held;
  if (submission.page !== undefined) encoded.pg = submission.page;
  if (submission.userAgent !== undefined) encoded.ua = submission.userAgent;
  if (submission.address !== undefined) encoded.ip = submission.address;
  if (submission.requestId !== undefined) encoded.r = submission.requestId;
  if (submission.traceparent !== undefined) encoded.t = submission.traceparent;
  return encoded;
}

/**
 * The submission of its short form, parsed where it enters a process. Throws a TypeError that names no
 * value when it is none.
 */
export function decodeSubmission(payload: unknown): Submission {
  if (!compiledSubmission.Check(payload)) throw new TypeError('it is not an encoded submission');
  const lead = applyMergePatch(baseOf(payload.b, payload.f === 1), payload.p as Json);
  if (!compiledLead.Check(lead))
    throw new TypeError('the encoded submission does not give a normalised lead');
  return {
    id: payload.id,
    workspaceId: payload.w,
    linkId: payload.k,
    leadId: payload.l,
    ...(payload.a !== undefined && { answeredLeadId: payload.a }),
    identities: payload.i.map(([key, owner]) => ({ key, owner: owner === 0 ? payload.l : owner })),
    order: payload.o,
    stamp: payload.s ?? payload.o,
    source: payload.src ?? 'post',
    lead,
    notes: payload.n ?? [],
    ...(payload.c !== undefined && { consent: payload.c }),
    ...(payload.h !== undefined && { held: payload.h }),
    body: payload.b,
    bodyType: payload.f === 1 ? 'form' : 'json',
    ...(payload.pg !== undefined && { page: payload.pg }),
    ...(payload.ua !== undefined && { userAgent: payload.ua }),
    ...(payload.ip !== undefined && { address: payload.ip }),
    ...(payload.r !== undefined && { requestId: payload.r }),
    ...(payload.t !== undefined && { traceparent: payload.t }),
  };
}

/** What the patch is taken against: the body if it is a JSON object, else nothing. */
function baseOf(body: string, isForm: boolean): Json | undefined {
  if (isForm) return undefined;
  try {
    return JSON.parse(body) as Json;
  } catch {
    return undefined;
  }
}

/** The version that is written, and those that are read: the next release reads this one as well. */
const WRITTEN_VERSION = 2;
const READ_VERSIONS: readonly number[] = [2];

/** What a job holds at most: so many submissions, or so many bytes of them, unless one alone is larger. */
export const LARGEST_GROUP = { submissions: 200, bytes: 256 * 1024 };

/** The largest body is 64 KiB, and its lead not larger: no text of one submission comes near. */
const LARGEST_TEXT = 2 ** 20;

/**
 * What a job carries in Redis: submissions of one shard, packed together. A waiting lead is memory
 * during a spike, and leads that are deflated as one share most of their text.
 */
export interface JobPayload {
  v: number;
  /** How many submissions. */
  n: number;
  /** They are stored already, and are to be applied again. */
  r?: 1;
  /** Lines of JSON, one a submission, deflated, as base64. */
  d: string;
}

interface JobMember {
  /** The id of a job that carries it alone. */
  jobId: string;
  submission: Submission;
}

/** A line of a payload, and what it says. */
export type ReadMember = ({ kind: 'read' } & JobMember) | { kind: 'unreadable'; line: string };

export type JobReading =
  | { kind: 'readable'; payload: JobPayload }
  /** Of a release that this one does not know. */
  | { kind: 'unknown-version'; version: number }
  /** Nothing that any release has written. */
  | { kind: 'malformed' };

export function memberLine({ jobId, submission }: JobMember): string {
  const encoded = encodeSubmission(submission);
  return JSON.stringify(jobId === submission.id ? encoded : { ...encoded, j: jobId });
}

/** Packs lines of `memberLine`. */
export function packJob(lines: readonly string[], { replay }: { replay: boolean }): JobPayload {
  return {
    v: WRITTEN_VERSION,
    n: lines.length,
    ...(replay && { r: 1 }),
    d: deflateRawSync(lines.join('\n'), DEFLATE).toString('base64'),
  };
}

/** What kind of payload a job's data is. */
export function readJob(data: unknown): JobReading {
  if (!isRecord(data) || typeof data.v !== 'number' || !Number.isSafeInteger(data.v))
    return { kind: 'malformed' };
  if (!READ_VERSIONS.includes(data.v)) return { kind: 'unknown-version', version: data.v };
  const { v, n, r, d } = data;
  if (typeof n !== 'number' || !Number.isSafeInteger(n) || n < 1 || typeof d !== 'string')
    return { kind: 'malformed' };
  return { kind: 'readable', payload: { v, n, d, ...(r === 1 && { r: 1 }) } };
}

/**
 * The members of a payload. They are read a few at a time, so that locks and health checks have their
 * turn. Throws a TypeError when the payload holds another number of lines, an Error when it cannot be
 * unpacked.
 */
export async function unpackJob(payload: JobPayload): Promise<ReadMember[]> {
  const lines = linesOf(payload);
  if (lines.length !== payload.n) throw new TypeError('the payload holds another number of lines');
  const members: ReadMember[] = [];
  for (const line of lines) {
    if (members.length > 0 && members.length % READ_AT_ONCE === 0)
      await new Promise((resolve) => setImmediate(resolve));
    members.push(readMember(line));
  }
  return members;
}

/** The same in one go, for a page that shows a few jobs. */
export function unpackJobSync(payload: JobPayload): ReadMember[] {
  return linesOf(payload).map(readMember);
}

const linesOf = ({ d }: JobPayload): string[] =>
  inflateRawSync(Buffer.from(d, 'base64'), INFLATE).toString().split('\n');

/** About half a millisecond. */
const READ_AT_ONCE = 25;

function readMember(line: string): ReadMember {
  try {
    const value: unknown = JSON.parse(line);
    const submission = decodeSubmission(value);
    const jobId = isRecord(value) && typeof value.j === 'string' ? value.j : submission.id;
    return { kind: 'read', jobId, submission };
  } catch {
    return { kind: 'unreadable', line };
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * What most payloads look like, for deflate to refer back to. Both sides need the very same bytes:
 * never change it, add another one under the next version.
 */
const DICTIONARY = Buffer.from(
  [
    '"n":[{"field":"/","code":"unknown-key"}],"f":1,"src":"import",',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
    '","pg":"https://www.?utm_source=instagram&utm_medium=cpc&utm_campaign=","ua":"","ip":"","r":"',
    '{"id":"","w":"","k":"","l":"","i":[["email:@gmail.com",0],["phone:+5511",0]],"o":17,"s":17,"b":"',
    '{\\"name\\":\\"\\",\\"email\\":\\"@gmail.com\\",\\"telephone\\":\\"+55 (11) 9',
    '\\",\\"document\\":\\"\\",\\"profession\\":\\"\\",\\"city\\":\\"São Paulo\\",\\"state\\":\\"SP',
    '\\",\\"instagram\\":\\"@\\",\\"birthday\\":\\"19\\",\\"address\\":{\\"street\\":\\"Rua \\",\\"number\\":\\"',
    '\\",\\"complement\\":\\"\\",\\"neighborhood\\":\\"\\",\\"city\\":\\"\\",\\"state\\":\\"\\",\\"zipCode\\":\\"',
    '\\",\\"country\\":\\"BR\\"},\\"utmSource\\":\\"instagram\\",\\"utmMedium\\":\\"cpc\\",\\"utmCampaign\\":\\"',
    '\\",\\"utmContent\\":\\"\\",\\"utmTerm\\":\\"\\",\\"customFields\\":{\\"',
    '\\"}}","p":{"telephone":"5511","document":"","instagram":"","state":"SP","address":{"state":"SP"}}}',
  ].join(''),
);

/**
 * Packed and unpacked on the event loop: another thread takes as much again to be asked, and a job of
 * 256 KiB that nothing can be packed of holds the loop for 6 ms.
 */
const DEFLATE = { dictionary: DICTIONARY, level: 3, windowBits: 15, memLevel: 8, chunkSize: 4_096 };
const INFLATE = { dictionary: DICTIONARY, windowBits: 15, maxOutputLength: LARGEST_TEXT };

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const isObject = (value: unknown): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const has = (object: object, key: string): boolean => Object.hasOwn(object, key);

/**
 * The JSON Merge Patch (RFC 7396) that turns `from` into `to`. `to` must hold no null: a merge
 * patch cannot say it.
 */
export function diffMergePatch(
  from: Json | undefined,
  to: { [key: string]: Json },
): { [key: string]: Json } {
  const source = isObject(from) ? from : {};
  const patch: { [key: string]: Json } = {};
  for (const key of Object.keys(source)) if (!has(to, key)) define(patch, key, null);
  for (const key of Object.keys(to)) {
    const value = to[key] as Json;
    const old = has(source, key) ? source[key] : undefined;
    if (isObject(value)) {
      const inner = diffMergePatch(old, value);
      if (!isObject(old) || hasAny(inner)) define(patch, key, inner);
    } else if (!equal(old, value)) define(patch, key, value);
  }
  return patch;
}

function hasAny(object: object): boolean {
  for (const _ in object) return true;
  return false;
}

/** As a member of its own, `__proto__` too. */
function define(object: { [key: string]: Json }, key: string, value: Json): void {
  if (key === '__proto__')
    Object.defineProperty(object, key, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    });
  else object[key] = value;
}

/** Applies a JSON Merge Patch (RFC 7396). Neither argument is changed. */
export function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: { [key: string]: Json } = Object.create(null) as { [key: string]: Json };
  if (isObject(target)) for (const [key, value] of Object.entries(target)) result[key] = value;
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = applyMergePatch(result[key], value);
  }
  return result;
}

function equal(a: Json | undefined, b: Json): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b;
  return a.length === b.length && a.every((item, i) => equal(item, b[i] as Json));
}
