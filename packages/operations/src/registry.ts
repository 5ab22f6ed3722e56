import type { link } from './link.ts';
import type { me } from './me.ts';
import type { operator } from './operator.ts';
import type { Operation } from './operation.ts';
import type { token } from './token.ts';
import type { workspace } from './workspace.ts';

/** The operations of each noun. */
export interface Nouns {
  link: typeof link;
  me: typeof me;
  operator: typeof operator;
  token: typeof token;
  workspace: typeof workspace;
}

/** A noun is loaded when an operation of it is needed: a command line needs one. */
const LOADERS: { [N in keyof Nouns]: () => Promise<Nouns[N]> } = {
  link: async () => (await import('./link.ts')).link,
  me: async () => (await import('./me.ts')).me,
  operator: async () => (await import('./operator.ts')).operator,
  token: async () => (await import('./token.ts')).token,
  workspace: async () => (await import('./workspace.ts')).workspace,
};

/** The operations of a noun. */
export function loadNoun<N extends keyof Nouns>(noun: N): Promise<Nouns[N]> {
  return LOADERS[noun]();
}

/** Every operation there is. */
export async function allOperations(): Promise<Operation[]> {
  const nouns = await Promise.all(Object.values(LOADERS).map((load) => load()));
  return nouns.flatMap((noun) => Object.values<Operation>(noun));
}
