import type { alarm } from './alarm.ts';
import type { audit } from './audit.ts';
import type { consent } from './consent.ts';
import type { delivery } from './delivery.ts';
import type { endpoint } from './endpoint.ts';
import type { failed } from './failed.ts';
import type { field } from './field.ts';
import type { held } from './held.ts';
import type { key } from './key.ts';
import type { lead } from './lead.ts';
import type { ledger } from './ledger.ts';
import type { link } from './link.ts';
import type { me } from './me.ts';
import type { Operation } from './operation.ts';
import type { operator } from './operator.ts';
import type { queue } from './queue.ts';
import type { rejected } from './rejected.ts';
import type { retention } from './retention.ts';
import type { run } from './runs.ts';
import type { series } from './series.ts';
import type { submission } from './submission.ts';
import type { token } from './token.ts';
import type { workspace } from './workspace.ts';

export interface Nouns {
  workspace: typeof workspace;
  field: typeof field;
  link: typeof link;
  endpoint: typeof endpoint;
  delivery: typeof delivery;
  lead: typeof lead;
  consent: typeof consent;
  submission: typeof submission;
  rejected: typeof rejected;
  retention: typeof retention;
  failed: typeof failed;
  held: typeof held;
  key: typeof key;
  queue: typeof queue;
  run: typeof run;
  alarm: typeof alarm;
  ledger: typeof ledger;
  series: typeof series;
  me: typeof me;
  operator: typeof operator;
  token: typeof token;
  audit: typeof audit;
}

/** A noun is loaded when an operation of it is needed: a command line needs one. */
const LOADERS: { [N in keyof Nouns]: () => Promise<Nouns[N]> } = {
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

export function loadNoun<N extends keyof Nouns>(noun: N): Promise<Nouns[N]> {
  return LOADERS[noun]();
}

export async function allOperations(): Promise<Operation[]> {
  const nouns = await Promise.all(Object.values(LOADERS).map((load) => load()));
  return nouns.flatMap((noun) => Object.values<Operation>(noun));
}
