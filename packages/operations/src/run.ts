import type { FieldError } from '@leadgate/contract';
import { recordAction, recordOutcome } from '@leadgate/store';
import type { Static, TObject } from 'typebox';
import { Value } from 'typebox/value';
import {
  invalid,
  pathMembers,
  Refusal,
  ROLES,
  type Call,
  type Connections,
  type Operation,
  type Role,
} from './operation.ts';

/** An input as callers give it: what is undefined is left out, a Date stands for its ISO text. */
export type Given<T> = { [K in keyof T]: T[K] | Dated<T[K]> | undefined };
type Dated<T> = string extends T ? Date : never;

/** Whether a role may do what asks for another one. Until there are administrators, operators are. */
export function mayRun(role: Role, needed: Role): boolean {
  const standing = role === 'operator' ? 'administrator' : role;
  return ROLES.indexOf(standing) >= ROLES.indexOf(needed);
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
  if (!mayRun(call.actor.role, operation.role))
    return new Refusal('not-allowed', `A ${call.actor.role} may not do this.`);
  const input = cleaned(given);
  const run = async () =>
    Value.Check(operation.input, input)
      ? operation.run(input, connections, call)
      : invalid(faultsOf(operation.input, input));
  if (!operation.recorded || Reflect.get(input, 'dryRun') === true) return run();
  return onRecord(
    { action: operation.name, subject: subjectOf(operation, input) },
    run,
    connections,
    call,
  );
}

/**
 * Does something on record. The command line is not held up if Postgres does not take the entry, at
 * the hour when it is needed most: it is then written afterwards (`migrate` makes its table first),
 * and if that fails too, the caller is told.
 */
export async function onRecord<O>(
  { action, subject }: { action: string; subject: Record<string, string> },
  run: () => Promise<O | Refusal>,
  { store }: Pick<Connections, 'store'>,
  { actor: { kind, name }, requestId, warn }: Call,
): Promise<O | Refusal> {
  const entry = { actor: { kind, name }, action, subject, requestId };
  const record = () => recordAction(store, entry);
  let id = kind === 'command-line' ? await record().catch(() => null) : await record();
  const end = async (outcome: 'done' | 'refused' | 'failed'): Promise<void> => {
    try {
      // What could not be done for want of Postgres is not there to be recorded either.
      if (outcome === 'done') id ??= await record();
      if (id !== null) await recordOutcome(store, id, outcome);
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
