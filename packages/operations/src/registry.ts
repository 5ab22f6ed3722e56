import type { TObject } from 'typebox';
import type { Operation } from './operation.ts';

/** A noun is loaded when an operation of it is needed: a command line needs one. */
const LOADERS = {
  workspace: async () => (await import('./workspace.ts')).workspace,
  field: async () => (await import('./field.ts')).field,
  link: async () => (await import('./link.ts')).link,
  endpoint: async () => (await import('./endpoint.ts')).endpoint,
  delivery: async () => (await import('./delivery.ts')).delivery,
  lead: async () => (await import('./lead.ts')).lead,
  consent: async () => (await import('./consent.ts')).consent,
  submission: async () => (await import('./submission.ts')).submission,
  rejected: async () => (await import('./rejected.ts')).rejected,
  retention: async () => (await import('./retention.ts')).retention,
  failed: async () => (await import('./failed.ts')).failed,
  held: async () => (await import('./held.ts')).held,
  run: async () => (await import('./runs.ts')).run,
  key: async () => (await import('./key.ts')).key,
  queue: async () => (await import('./queue.ts')).queue,
  alarm: async () => (await import('./alarm.ts')).alarm,
  ledger: async () => (await import('./ledger.ts')).ledger,
  series: async () => (await import('./series.ts')).series,
  me: async () => (await import('./me.ts')).me,
  operator: async () => (await import('./operator.ts')).operator,
  token: async () => (await import('./token.ts')).token,
  audit: async () => (await import('./audit.ts')).audit,
};

type Nouns = { [N in keyof typeof LOADERS]: Awaited<ReturnType<(typeof LOADERS)[N]>> };

/** An operation by its noun and its member there: `lead.find`, `submission.readAgain`. */
export type OperationKey = { [N in keyof Nouns]: `${N}.${keyof Nouns[N] & string}` }[keyof Nouns];

type At<K> = K extends `${infer N extends keyof Nouns}.${infer V}`
  ? Nouns[N][V & keyof Nouns[N]]
  : never;
/** Of the schema of what an operation is given. */
export type InputOf<K extends OperationKey> = At<K> extends Operation<infer I, unknown> ? I : never;
export type OutputOf<K extends OperationKey> =
  At<K> extends Operation<TObject, infer O> ? O : never;

export async function loadOperation<K extends OperationKey>(
  key: K,
): Promise<Operation<InputOf<K>, OutputOf<K>>> {
  const [noun, member] = key.split('.') as [keyof Nouns, string];
  return Reflect.get(await LOADERS[noun](), member) as Operation<InputOf<K>, OutputOf<K>>;
}

export async function allOperations(): Promise<Operation[]> {
  const nouns = await Promise.all(Object.values(LOADERS).map((load) => load()));
  return nouns.flatMap((noun) => Object.values<Operation>(noun));
}
