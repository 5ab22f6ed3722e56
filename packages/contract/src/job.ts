import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { Consent } from './consent.ts';
import { Held } from './held.ts';
import { Lead } from './lead.ts';
import { Note } from './note.ts';
import { applyMergePatch, diffMergePatch, type Json } from './merge-patch.ts';
import type { Submission } from './submission.ts';

/**
 * The payload of an apply job, version 1. Short names, and the lead as a JSON Merge Patch
 * (RFC 7396) over the body as sent: a waiting lead costs Redis memory during a spike, and most
 * fields are normal as sent.
 */
const ApplyJobV1 = Type.Object({
  v: Type.Literal(1),
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
  src: Type.Optional(Type.Literal('import')),
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
});
export type ApplyJob = Static<typeof ApplyJobV1>;

const compiledJob = Compile(ApplyJobV1);
const compiledLead = Compile(Lead);

/** The job payload of a submission. */
export function encodeApplyJob(submission: Submission): ApplyJob {
  const { lead, notes, identities } = submission;
  return {
    v: 1,
    id: submission.id,
    w: submission.workspaceId,
    k: submission.linkId,
    l: submission.leadId,
    ...(submission.answeredLeadId !== undefined && { a: submission.answeredLeadId }),
    i: identities.map(({ key, owner }) => [key, owner === submission.leadId ? 0 : owner]),
    o: submission.order,
    ...(submission.stamp !== submission.order && { s: submission.stamp }),
    ...(submission.source === 'import' && { src: 'import' as const }),
    b: submission.body,
    ...(submission.bodyType === 'form' && { f: 1 as const }),
    p: diffMergePatch(baseOf(submission.body, submission.bodyType === 'form'), lead),
    ...(notes.length > 0 && { n: notes }),
    ...(submission.consent !== undefined && { c: submission.consent }),
    ...(submission.held !== undefined && { h: submission.held }),
    ...(submission.page !== undefined && { pg: submission.page }),
    ...(submission.userAgent !== undefined && { ua: submission.userAgent }),
    ...(submission.address !== undefined && { ip: submission.address }),
    ...(submission.requestId !== undefined && { r: submission.requestId }),
  };
}

/**
 * The submission of a job payload, parsed where it enters the worker.
 * Throws a TypeError that names no value when the payload is not one this version understands.
 */
export function decodeApplyJob(payload: unknown): Submission {
  if (!compiledJob.Check(payload))
    throw new TypeError('job payload is not an apply job of version 1');
  const lead = applyMergePatch(baseOf(payload.b, payload.f === 1), payload.p as Json);
  if (!compiledLead.Check(lead)) throw new TypeError('job payload does not give a normalised lead');
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
  };
}

/** What the patch is taken against: the body where it is a JSON object, else nothing. */
function baseOf(body: string, isForm: boolean): Json | undefined {
  if (isForm) return undefined;
  try {
    return JSON.parse(body) as Json;
  } catch {
    return undefined;
  }
}
