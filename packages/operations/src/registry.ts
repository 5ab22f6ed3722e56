import type { workspace } from './workspace.ts';
import type { Operation } from './operation.ts';

/** The operations of each noun. */
export interface Nouns {
  workspace: typeof workspace;
}

/** A noun is loaded when an operation of it is needed: a command line needs one. */
const LOADERS: { [N in keyof Nouns]: () => Promise<Nouns[N]> } = {
  workspace: async () => (await import('./workspace.ts')).workspace,
};

/** The operations of a noun. */
export function loadNoun<N extends keyof Nouns>(noun: N): Promise<Nouns[N]> {
  return LOADERS[noun]();
}

/** Every operation there is. */
export async function allOperations(): Promise<Operation[]> {
  const nouns = await Promise.all(Object.values(LOADERS).map((load) => load()));
  return nouns.flatMap((noun): Operation[] => Object.values(noun));
}
