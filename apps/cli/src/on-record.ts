import { recordAction, recordOutcome } from '@leadgate/store';
import type { Context } from './command.ts';

const DONE = new Set(['added', 'changed', 'removed', 'created', 'revoked']);

/** Does something that is in the audit log, as the command line's doing. */
export async function onRecord<T extends { kind: string }>(
  { session }: Context,
  action: string,
  subject: Record<string, string>,
  act: (store: ReturnType<Context['session']['store']>) => Promise<T>,
): Promise<T> {
  const store = session.store();
  const actor = { kind: 'command-line' as const, name: 'leadgate' };
  const id = await recordAction(store, { actor, action, subject, requestId: null });
  const outcome = await act(store);
  await recordOutcome(store, id, DONE.has(outcome.kind) ? 'done' : 'refused');
  return outcome;
}
