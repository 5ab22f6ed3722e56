import { reaches, roleIn, type Access, type FieldError, type Role } from '@leadgate/contract';
import { contactsIn } from '@leadgate/leads';
import {
  erasureOf,
  findWorkspace,
  isUuid,
  recordAction,
  recordOutcome,
  recordRead,
  workspaceOf,
} from '@leadgate/store';
import type { Static, TObject } from 'typebox';
import { Value } from 'typebox/value';
import { shownTo } from './mask.ts';
import {
  invalid,
  pathMembers,
  Refusal,
  TextFile,
  type Call,
  type Connections,
  type Operation,
} from './operation.ts';

/** An input as callers give it: what is undefined is left out, a Date stands for its ISO text. */
export type Given<T> = { [K in keyof T]: T[K] | Dated<T[K]> | undefined };
type Dated<T> = string extends T ? Date : never;

/** Whether somebody may run an operation with any input at all: asked before its input is looked at. */
export function couldRun(
  { role: needed, scope }: Pick<Operation, 'role' | 'scope'>,
  { role, workspaces }: Access,
): boolean {
  if (scope === 'own' || reaches(role, needed)) return true;
  return scope !== null && workspaces.some((one) => reaches(one.role, needed));
}

/**
 * What somebody may do with an input of an operation: their role in its workspace, or a refusal. What
 * is in a workspace of others is answered as what does not exist.
 */
export async function roleOver(
  { role: needed, scope }: Pick<Operation, 'role' | 'scope'>,
  input: object,
  connections: Pick<Connections, 'store'>,
  access: Access,
): Promise<Role | Refusal> {
  if (access.role !== null && reaches(access.role, needed)) return access.role;
  const named: unknown = scope === null || scope === 'own' ? undefined : Reflect.get(input, scope);
  if (typeof named !== 'string')
    return scope === 'own' ? 'viewer' : notAllowed(access.role, needed);
  const workspaceId =
    scope === 'workspaceId' ? named : await workspaceOfScope(connections.store, scope, named);
  const role = workspaceId === null ? access.role : roleIn(access, workspaceId);
  if (role === null) return new Refusal('not-found', 'There is no such thing.');
  return reaches(role, needed) ? role : notAllowed(role, needed);
}

const notAllowed = (role: Role | null, needed: Role): Refusal =>
  new Refusal(
    'not-allowed',
    role === null
      ? 'This is about all workspaces: name one of yours, or ask an administrator.'
      : `This needs the role ${needed}; yours is ${role}.`,
  );

const KINDS = {
  linkId: 'link',
  fieldId: 'field',
  leadId: 'lead',
  submissionId: 'submission',
  heldId: 'held',
  rejectedId: 'rejected',
  endpointId: 'endpoint',
  runId: 'run',
} as const;

/** Null if there is no such thing, or it says of no workspace: a role for all of them is needed. */
async function workspaceOfScope(
  store: Connections['store'],
  scope: Operation['scope'],
  id: string,
): Promise<string | null> {
  const kind = Object.entries(KINDS).find(([name]) => name === scope)?.[1];
  return kind === undefined || !isUuid(id) ? null : workspaceOf(store, kind, id);
}

/**
 * Runs an operation for whoever calls: checks role and input, and writes what acts into the audit
 * log, before it acts and with its outcome after. Nothing else in the tree writes there, so nothing
 * is done unrecorded by any door. A dry run is not recorded: it changes nothing.
 *
 * Returns the output or a Refusal; rejects when a server fails.
 */
export async function runOperation<I extends TObject, O>(
  operation: Operation<I, O>,
  given: Given<Static<I>>,
  connections: Connections,
  call: Call,
): Promise<O | Refusal> {
  const input = cleaned(given);
  const role = await roleOver(operation, input, connections, call.actor);
  if (role instanceof Refusal)
    return onRecord(entryOf(operation, input), () => role, connections, call);
  const run = async () => {
    if (!Value.Check(operation.input, input)) return invalid(faultsOf(operation.input, input));
    const erased = operation.afterErasure ? null : await erasedIn(input, connections);
    if (erased !== null) return erased;
    const output = await operation.run(input, connections, call);
    const { personal } = operation;
    const isRead = personal !== false || output instanceof TextFile;
    if (output instanceof Refusal || !isRead) return output;
    if (reaches(role, 'operator')) await recordReadOf(operation, input, output, connections, call);
    return personal === false ? output : shownTo(role, output, personal);
  };
  const isRecorded =
    operation.recorded === 'at-start' ? !Reflect.has(input, 'after') : operation.recorded;
  if (!isRecorded || Reflect.get(input, 'dryRun') === true) return run();
  const entry = entryOf(operation, input);
  const changed = await changesOf(operation, input, connections, call);
  Object.assign(entry.subject, changed !== '' && { changed });
  return onRecord(entry, run, connections, call);
}

/** The members of an input that name a lead. */
const LEADS = ['leadId', 'otherId'];

/** Why nothing is answered about a lead that an input names: it was erased. */
async function erasedIn(
  input: object,
  connections: Pick<Connections, 'store'>,
): Promise<Refusal | null> {
  for (const name of LEADS) {
    const id: unknown = Reflect.get(input, name);
    const erasure = typeof id === 'string' ? await erasureOf(connections.store, id) : null;
    if (erasure === null) continue;
    const { at, by, reason } = erasure;
    const when = at.replace('T', ' ').replace(/\.\d+/, '');
    return new Refusal('erased', `${String(id)} was erased: ${when} by ${by}: ${reason}.`, null, {
      ...erasure,
    });
  }
  return null;
}

const LONGEST_CHANGE = 2_000;

/**
 * What is about to be set, and to what of what: `mode: strict → lenient, guard.captcha.secret`. Empty if
 * nothing differs. The command line is not held up if Postgres does not say what was there before.
 */
async function changesOf(
  operation: Pick<Operation, 'changes' | 'input' | 'path' | 'subject'>,
  input: object,
  connections: Pick<Connections, 'store'>,
  { actor: { kind } }: Call,
): Promise<string> {
  const { changes } = operation;
  if (changes === null || !Value.Check(operation.input, input)) return '';
  const before = await changes.before({ ...input }, connections).catch((error: unknown) => {
    if (kind === 'command-line') return null;
    throw error;
  });
  if (before === null) return '';
  const named = [...pathMembers(operation), ...operation.subject];
  return Object.entries(input)
    .filter(([name]) => changes.told.includes(name) || !named.includes(name))
    .flatMap(([name, value]) => differences(name, value, Reflect.get(before, name), changes.told))
    .join(', ')
    .slice(0, LONGEST_CHANGE);
}

function differences(
  path: string,
  asked: unknown,
  before: unknown,
  told: readonly string[],
): string[] {
  if (Value.Equal(asked, before)) return [];
  if (typeof asked === 'object' && asked !== null && !Array.isArray(asked)) {
    const old: Record<string, unknown> = { ...(typeof before === 'object' && before) };
    return Object.entries(asked).flatMap(([name, value]) =>
      differences(`${path}.${name}`, value, old[name], told),
    );
  }
  return [told.includes(path) ? `${path}: ${wordOf(before)} → ${wordOf(asked)}` : path];
}

/** The query of a URL may hold a secret. */
function wordOf(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value ?? null) ?? '');
  return text.replaceAll(/(https?:[^?"]{1,200})\?[^"]*/g, '$1?…').slice(0, 200);
}

/** More leads than a list has at once: an export is told by its workspace. */
const MOST_LEADS = 500;

/**
 * Writes who read what about whom, before it is handed over. As what acts, a command is not held up if
 * Postgres does not take it.
 */
async function recordReadOf(
  { name: action }: Pick<Operation, 'name'>,
  input: object,
  output: unknown,
  { store }: Pick<Connections, 'store'>,
  { actor: { kind, name }, requestId, warn }: Call,
): Promise<void> {
  const named: unknown = Reflect.get(input, 'workspaceId');
  const workspaceId = typeof named === 'string' && isUuid(named) ? named : null;
  const leadIds = [...new Set([...leadIdsIn(input), ...leadIdsIn(output)])].slice(0, MOST_LEADS);
  const sought = workspaceId === null ? null : await soughtBy(store, workspaceId, input);
  try {
    await recordRead(store, {
      actor: { kind, name },
      action,
      workspaceId,
      leadIds,
      sought,
      requestId,
    });
  } catch (error) {
    if (kind !== 'command-line') throw error;
    warn('that this was read is not on record: Postgres did not take it', error);
  }
}

/** The leads that an input or an output names, as far as it is one or a list. */
function leadIdsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(leadIdsIn);
  if (typeof value !== 'object' || value === null) return [];
  const { leadId, a, b, lead, leads, changes }: Record<string, unknown> = { ...value };
  const own = typeof leadId === 'string' && isUuid(leadId) ? [leadId] : [];
  // A pair of possible duplicates, the export of a person, and pages.
  return [...own, ...[a, b, lead, leads, changes].flatMap(leadIdsIn)];
}

/** The email or telephone that was looked for: of somebody, or of nobody who is known. */
async function soughtBy(store: Connections['store'], workspaceId: string, input: object) {
  const { email, telephone, q }: Record<string, unknown> = { ...input };
  const text = [email, telephone, q].find((one) => typeof one === 'string' && one.trim() !== '');
  const workspace = typeof text === 'string' ? await findWorkspace(store, workspaceId) : null;
  if (workspace === null || typeof text !== 'string') return null;
  const identity = contactsIn(text, workspace.country)[0];
  return identity === undefined ? null : { workspaceId, identity };
}

/**
 * Does something on record. The command line is not held up if Postgres does not take the entry, at
 * the hour when it is needed most: it is then written afterwards (`migrate` makes its table first),
 * and if that fails too, the caller is told.
 */
export async function onRecord<O>(
  { action, subject }: { action: string; subject: Record<string, string> },
  run: () => Promise<O | Refusal> | Refusal,
  connections: Pick<Connections, 'store'>,
  { actor: { kind, name }, requestId, warn }: Call,
): Promise<O | Refusal> {
  const entry = { actor: { kind, name }, action, subject, requestId };
  // Asked for where it is used: what can do without Postgres may not know where it is.
  const record = async () => recordAction(connections.store, entry);
  let id = kind === 'command-line' ? await record().catch(() => null) : await record();
  const end = async (outcome: 'done' | 'refused' | 'failed'): Promise<void> => {
    try {
      // What could not be done for want of Postgres is not there to be recorded either.
      if (outcome === 'done') id ??= await record();
      if (id !== null) await recordOutcome(connections.store, id, outcome);
    } catch (error) {
      warn('this is not in the audit log: Postgres did not take it', error);
    }
  };
  try {
    const result = await run();
    await end(result instanceof Refusal ? 'refused' : 'done');
    return result;
  } catch (error) {
    await end('failed');
    throw error;
  }
}

function cleaned(given: object): object {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]: [string, unknown]) =>
      value === undefined ? [] : [[name, value instanceof Date ? value.toISOString() : value]],
    ),
  );
}

function faultsOf(schema: TObject, input: object): FieldError[] {
  return Value.Errors(schema, input).map(({ instancePath, keyword, message }) => ({
    pointer: instancePath,
    code: keyword,
    detail: `${instancePath.slice(1) || 'The input'} ${message}.`,
  }));
}

const entryOf = (operation: Pick<Operation, 'name' | 'path' | 'subject'>, input: object) => ({
  action: operation.name,
  subject: subjectOf(operation, input),
});

/** Ids, and names that operators gave. */
function subjectOf(
  operation: Pick<Operation, 'path' | 'subject'>,
  input: object,
): Record<string, string> {
  return Object.fromEntries(
    [...pathMembers(operation), ...operation.subject].flatMap((name): [string, string][] => {
      const value: unknown = Reflect.get(input, name);
      const told = ['string', 'number', 'boolean'].includes(typeof value) && value !== '';
      return told ? [[name, String(value).slice(0, 200)]] : [];
    }),
  );
}

/**
 * Carries a change that Postgres has over to Redis at once. If Redis cannot take it, the operation
 * still succeeds: the worker compares the two and carries it over by itself.
 */
export async function tellRedis(
  { redis }: Pick<Connections, 'redis'>,
  { warn }: Pick<Call, 'warn'>,
  tell: (client: Awaited<ReturnType<Connections['redis']>>) => Promise<void>,
  otherwise = 'receivers follow by themselves once Redis and a worker run',
): Promise<void> {
  try {
    await tell(await redis());
  } catch (error) {
    warn(`stored in Postgres; ${otherwise}`, error);
  }
}
