import { type BodyType, type CaptureLink, type FieldError, PROBLEMS } from '@leadgate/contract';
import { jsonText, mapBody, parseBody, readLead, rowsOf, soleItem } from '@leadgate/leads';
import {
  keepMended,
  linkEntries,
  listRejected,
  markReplayed,
  type RejectedDetails,
  type RejectedFilter,
  showRejected,
  type Store,
  submissionsThere,
} from '@leadgate/store';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { acceptBody, type ReadBody } from './accept.ts';
import { derivedId, timeOfId } from './derived-id.ts';
import { type Servers, STOPPED_BY_REFILL } from './operation.ts';
import type { Work } from './runs.ts';
import { Uuid } from './schema.ts';

interface ReplayRejectedOptions extends ReadRejectedOptions {
  /** What to make of it first; kept as what it was mended to if it is accepted so. */
  changes?: FieldChanges;
  /** Says what would come of it, and changes nothing. */
  dryRun?: boolean;
}

type ReplayedRejected =
  | { kind: 'accepted'; submissionId: string; leadId: string }
  /** With `dryRun`: it would be accepted. */
  | { kind: 'acceptable'; submissionId: string }
  | { kind: 'already-replayed'; submissionId: string }
  | { kind: 'refused'; code: string; errors: FieldError[] }
  /** Redis does not hold all of the workspace; a worker refills it. Try again. */
  | { kind: 'behind' }
  | { kind: 'unknown' };

/**
 * Takes a refused body after all, as mended: it is a submission with the stamp of when it was
 * refused and an order of now, whose id follows from that of the refused body. Doing it twice, also
 * at once and after a crash, makes one submission. A list, as the link's mapping knows it by now, is a
 * submission a row, all of them or none. Rejects when Postgres or Redis fails.
 */
export async function replayRejected(
  servers: Servers,
  rejectedId: string,
  options: ReplayRejectedOptions,
  rulesOf = (linkId: string) => linkRules(servers.store, linkId),
): Promise<ReplayedRejected> {
  const rejected = await showRejected(servers.store, rejectedId);
  const link = rejected === null ? null : await rulesOf(rejected.linkId);
  if (rejected === null || link === null) return { kind: 'unknown' };
  if (rejected.submissionId !== null)
    return { kind: 'already-replayed', submissionId: rejected.submissionId };

  const { changes } = options;
  const leads = bodiesThatCount(rejected, link).map((counted, row) => {
    const changed = changes === undefined ? counted : changeFields(counted, changes);
    // What cannot be parsed is refused for that.
    const body = changed ?? counted;
    const parts = row === 0 ? [] : [String(row)];
    const submissionId = derivedId(timeOfId(rejectedId), ['rejected', rejectedId, ...parts]);
    return { submissionId, body, changed, reading: readRejected(body, link, options) };
  });
  const refusals = leads.flatMap(({ reading }) => (reading.kind === 'refused' ? [reading] : []));
  const [refusal] = refusals;
  if (refusal !== undefined)
    return { ...refusal, errors: refusals.flatMap(({ errors }) => errors) };
  const ids = leads.map(({ submissionId: id }) => id);
  const [submissionId = ''] = ids;
  if (options.dryRun === true) return { kind: 'acceptable', submissionId };
  // Applied already: whoever replayed it went away before marking it.
  if ((await submissionsThere(servers.store, ids)).size === ids.length) {
    await markReplayed(servers.store, rejectedId, submissionId);
    return { kind: 'already-replayed', submissionId };
  }
  const [one, ...others] = leads;
  if (changes !== undefined && one?.changed != null && others.length === 0)
    await keepMended(servers.store, rejectedId, one.changed);
  const { page, userAgent, address } = rejected;
  let first: ReplayedRejected | undefined;
  for (const { submissionId: id, body, reading } of leads) {
    if (reading.kind === 'refused') continue;
    const accepted = await acceptBody(servers, {
      submissionId: id,
      link,
      reading,
      stamp: rejected.stamp,
      source: 'post',
      background: false,
      ...body,
      ...(page !== null && { page }),
      ...(userAgent !== null && { userAgent }),
      ...(address !== null && { address }),
      requestId: rejectedId,
    });
    if (accepted.kind !== 'accepted') return { kind: 'behind' };
    first ??= accepted;
  }
  // After the jobs stand: marked before, a crash in between would lose the lead.
  await markReplayed(servers.store, rejectedId, submissionId);
  return first ?? { kind: 'unknown' };
}

const PAGE = 200;
const AT_ONCE = 8;

/**
 * Replays every refused body that fits and has not been replayed, newest first, a few at once, under the rules of
 * their links as they are when it begins. What is refused again stays as it is. `signal` stops it between those.
 */
export async function* replayAllRejected(
  servers: Servers,
  { before, ...filter }: Omit<RejectedFilter, 'replayed'>,
  { signal, ...options }: ReplayRejectedOptions & { signal?: AbortSignal },
): AsyncGenerator<{ rejectedId: string; outcome: ReplayedRejected }> {
  const rules = new Map<string, ReturnType<typeof linkRules>>();
  const rulesOf = (linkId: string) => {
    const known = rules.get(linkId) ?? linkRules(servers.store, linkId);
    rules.set(linkId, known);
    return known;
  };
  do {
    const page = await listRejected(
      servers.store,
      { ...filter, replayed: false, ...(before !== undefined && { before }) },
      PAGE,
    );
    for (let from = 0; from < page.length; from += AT_ONCE) {
      if (signal?.aborted === true) return;
      yield* await Promise.all(
        page.slice(from, from + AT_ONCE).map(async ({ rejectedId }) => ({
          rejectedId,
          outcome: await replayRejected(servers, rejectedId, options, rulesOf),
        })),
      );
    }
    before = page.at(-1)?.rejectedId;
  } while (before !== undefined);
}

/**
 * What to make of a refused body: another one, or the same with some fields set. A field is named as
 * in a posted body, one within another with a dot (`address.city`, `customFields.plan`); an empty
 * value takes it out.
 */
type MendRequest =
  { kind: 'body'; body: string; bodyType: BodyType } | ({ kind: 'set' } & FieldChanges);

/** What of a body is changed: first what is moved, then what is set. */
interface FieldChanges {
  values: Readonly<Record<string, string>>;
  /** From one field to another, which is not overwritten. */
  move?: Readonly<Record<string, string>>;
}

type MendOutcome =
  /** Kept. `errors`: what would still be refused; none: it can be replayed. */
  | { kind: 'mended'; body: string; bodyType: BodyType; errors: FieldError[] }
  | { kind: 'unknown' }
  | { kind: 'already-replayed'; submissionId: string }
  /** It cannot be parsed, so no field of it can be set. */
  | { kind: 'unparsable' };

/** Mends a refused body. The body as sent stays beside it. */
export async function mendRejected(
  store: Store,
  rejectedId: string,
  request: MendRequest,
  { now }: { now: number },
): Promise<MendOutcome> {
  const rejected = await showRejected(store, rejectedId);
  const link = rejected === null ? null : await linkRules(store, rejected.linkId);
  if (rejected === null || link === null) return { kind: 'unknown' };
  if (rejected.submissionId !== null)
    return { kind: 'already-replayed', submissionId: rejected.submissionId };

  const [one, ...others] =
    request.kind === 'body' ? mapped(request, link) : bodiesThatCount(rejected, link);
  // Fields of a list are nobody's.
  if (one === undefined || others.length > 0) return { kind: 'unparsable' };
  const mended = request.kind === 'body' ? one : changeFields(one, request);
  if (mended === null) return { kind: 'unparsable' };
  const { body, bodyType } = mended;
  // Replayed in this very moment, it is no longer there to be mended.
  if (!(await keepMended(store, rejectedId, { body, bodyType })))
    return mendRejected(store, rejectedId, request, { now });
  const reading = readRejected(mended, link, { now });
  const errors = reading.kind === 'refused' ? reading.errors : [];
  return { kind: 'mended', body, bodyType, errors };
}

function changeFields(
  { body, bodyType }: { body: string; bodyType: BodyType },
  { values, move = {} }: FieldChanges,
): { body: string; bodyType: BodyType } | null {
  const parsed = parseBody(body, bodyType);
  const fields = parsed.kind === 'parsed' ? entriesOf(parsed.value) : null;
  if (fields === null) return null;
  for (const [from, to] of Object.entries(move)) {
    const [value, there] = [fieldAt(fields, from), fieldAt(fields, to)];
    if (value === undefined || (there !== undefined && there !== '')) continue;
    setField(fields, to, value);
    setField(fields, from, undefined);
  }
  for (const [path, value] of Object.entries(values))
    setField(fields, path, value === '' ? undefined : value);
  // What is JSON is read as JSON, and stays what a form said.
  const text = jsonText(Object.fromEntries(fields));
  return text === null ? null : { body: text, bodyType };
}

function stepsOf(path: string): [outer: string, inner: string | null] {
  const dot = path.indexOf('.');
  return dot === -1 ? [path, null] : [path.slice(0, dot), path.slice(dot + 1)];
}

function fieldAt(fields: Map<string, unknown>, path: string): unknown {
  const [outer, inner] = stepsOf(path);
  return inner === null ? fields.get(outer) : entriesOf(fields.get(outer))?.get(inner);
}

/** Undefined takes it out. */
function setField(fields: Map<string, unknown>, path: string, value: unknown): void {
  const [outer, inner] = stepsOf(path);
  if (inner !== null) {
    const within = entriesOf(fields.get(outer)) ?? new Map<string, unknown>();
    setField(within, inner, value);
    fields.set(outer, Object.fromEntries(within));
  } else if (value === undefined) fields.delete(outer);
  else fields.set(outer, value);
}

/** A Map, whose keys are nobody's prototype. */
function entriesOf(value: unknown): Map<string, unknown> | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  return new Map(Object.entries(value));
}

interface ReadRejectedOptions {
  /** Sets fields aside that are still wrong, instead of refusing the body for them. */
  lenient?: boolean;
  /** Milliseconds since 1970. */
  now: number;
}

type RejectedReading =
  | ReadBody
  /** Still not acceptable, and why: what the sender would be told. */
  | { kind: 'refused'; code: string; errors: FieldError[] };

interface TypedBody {
  body: string;
  bodyType: BodyType;
}

/** The body that counts: as mended, else as sent, by the names of a lead's own fields; a list's rows. */
function bodiesThatCount(
  { body, bodyType, mended }: Pick<RejectedDetails, 'body' | 'bodyType' | 'mended'>,
  link: CaptureLink,
): TypedBody[] {
  return mended === null ? mapped({ body, bodyType }, link) : [mended];
}

/** A body of the sender as its link maps it, row by row; one that cannot be parsed as it is. */
function mapped({ body, bodyType }: TypedBody, { mapping }: CaptureLink): TypedBody[] {
  const parsed = parseBody(body, bodyType);
  if (mapping === undefined || parsed.kind !== 'parsed') return [{ body, bodyType }];
  const rows = rowsOf(parsed.value, mapping) ?? [parsed.value];
  return rows.map((row) => ({ body: jsonText(mapBody(row, mapping)) ?? body, bodyType: 'json' }));
}

/** Reads a refused body again, as the receiver does, under its link as it is today. */
function readRejected(
  { body, bodyType }: { body: string; bodyType: BodyType },
  link: CaptureLink,
  { lenient = false, now }: ReadRejectedOptions,
): RejectedReading {
  const parsed = parseBody(body, bodyType);
  switch (parsed.kind) {
    case 'parsed': {
      const isForm = bodyType === 'form';
      const reading = readLead(soleItem(parsed.value, {}), link, { lenient, now, isForm });
      if (reading.kind === 'read' || reading.errors.length > 0) return reading;
      return refused(reading.code);
    }
    case 'empty':
      return refused('empty-body');
    case 'malformed':
      return refused('malformed-json');
    case 'too-many-fields':
      return refused('invalid-lead');
  }
}

function refused(code: keyof typeof PROBLEMS): RejectedReading {
  return {
    kind: 'refused',
    code,
    errors: [{ pointer: '', code, detail: PROBLEMS[code].title }],
  };
}

/** A link as the receiver reads bodies by it, closed or not; null if there is none. */
async function linkRules(store: Store, linkId: string): Promise<CaptureLink | null> {
  const [entry] = await linkEntries(store, linkId);
  return entry?.link ?? null;
}

/** Names of fields as in a posted body: address.city. */
const Fields = Type.Record(Type.String({ maxLength: 100 }), Type.String({ maxLength: 2_000 }), {
  maxProperties: 20,
});

/** Which refused bodies of a workspace are mended, and how. */
export const MendParameters = Type.Object({
  linkId: Type.Optional(Uuid),
  cause: Type.Optional(
    Type.String({ maxLength: 32, description: 'As /rejected/causes names it.' }),
  ),
  set: Type.Optional(
    Type.Unsafe<Static<typeof Fields>>({
      ...Fields,
      description: 'Values by field, of all of them; an empty one takes the field out.',
    }),
  ),
  move: Type.Optional(
    Type.Unsafe<Static<typeof Fields>>({
      ...Fields,
      description: 'From a field to another one, if that has no value.',
    }),
  ),
  lenient: Type.Optional(
    Type.Boolean({ description: 'Sets aside what is still wrong, as a note, and takes the rest.' }),
  ),
});

type Parameters = Static<typeof MendParameters>;

/** What is mended, as refused bodies are filtered and replayed. */
function readParameters({ set, move, lenient = false, ...filter }: Parameters): {
  filter: Pick<Parameters, 'linkId' | 'cause'>;
  options: Omit<ReplayRejectedOptions, 'now'>;
} {
  const changes = { values: set ?? {}, ...(move !== undefined && { move }) };
  const isChanged = set !== undefined || move !== undefined;
  return { filter, options: { lenient, ...(isChanged && { changes }) } };
}

/** A preview looks at so many. */
const MOST_TRIED = 5_000;

/** What mending them would come to, without doing it. */
export async function tryToMend(
  servers: Servers,
  workspaceId: string,
  parameters: Parameters,
): Promise<{ accepted: number; refused: number; more: boolean }> {
  const { filter, options } = readParameters(parameters);
  const counts = { accepted: 0, refused: 0 };
  const all = { workspaceId, ...filter };
  const asked = { ...options, dryRun: true, now: Date.now() };
  for await (const { outcome } of replayAllRejected(servers, all, asked)) {
    counts[outcome.kind === 'acceptable' ? 'accepted' : 'refused'] += 1;
    if (counts.accepted + counts.refused >= MOST_TRIED) return { ...counts, more: true };
  }
  return { ...counts, more: false };
}

/**
 * Takes refused bodies after all, each changed in the same way, newest first. One that is refused again stays
 * as it was. Doing one twice makes one submission.
 */
export const mendWork: Work = async ({ run, signal, tell }, connections) => {
  const { filter, options } = readParameters(Value.Parse(MendParameters, run.parameters));
  const servers = { store: connections.store, ...(await connections.intake()) };
  const all = {
    ...{ workspaceId: run.workspaceId, ...filter, until: run.begunAt },
    ...(run.cursor !== null && { before: run.cursor }),
  };
  let { accepted = 0, refused = 0 } = run.progress;
  const asked = { ...options, signal, now: Date.now() };
  for await (const { rejectedId, outcome } of replayAllRejected(servers, all, asked)) {
    if (outcome.kind === 'behind') return { problem: STOPPED_BY_REFILL };
    if (outcome.kind === 'refused') refused += 1;
    else accepted += 1;
    tell({ accepted, refused }, rejectedId);
  }
};
