import {
  type Call,
  type Connections,
  type Given,
  type InputOf,
  loadOperation,
  type OperationKey,
  type OutputOf,
  Refusal,
  type RefusalCode,
  runOperation,
} from '@leadgate/operations';
import type { Static } from 'typebox';
import { userInfo } from 'node:os';
import { type Context, remark } from './command.ts';
import { explain } from './explain.ts';
import { EXIT, type ExitStatus, Failure, type Io } from './io.ts';
import { showable } from './print/showable.ts';
import type { Session } from './session.ts';

interface CallOptions {
  signal?: AbortSignal;
  /** What to say of a refusal, if the command knows more than the operation: what to type next. */
  words?: Partial<Record<RefusalCode, string | ((refusal: Refusal) => string | Failure)>>;
}

/** Runs an operation as who sits at the prompt. Rejects with a Failure if it is refused. */
export async function call<K extends OperationKey>(
  context: Context,
  key: K,
  input: Given<Static<InputOf<K>>>,
  { words = {}, ...options }: CallOptions = {},
): Promise<OutputOf<K>> {
  const operation = await loadOperation(key);
  const connections = connectionsOf(context.session);
  const result = await runOperation(operation, input, connections, callOf(context, options));
  if (!(result instanceof Refusal)) return result;
  const said = words[result.code] ?? result.detail;
  const sentence = typeof said === 'string' ? said : said(result);
  if (sentence instanceof Failure) throw sentence;
  throw new Failure(showable(sentence), STATUS[result.code] ?? EXIT.failed);
}

/** What to type next if there is nothing of a name or id: the list of its noun. */
export const unknownIn = (noun: string): NonNullable<CallOptions['words']> => ({
  'not-found': ({ detail }) =>
    `${detail.replace(/\.$/, '')}; leadgate ${noun} list shows those there are.`,
});

const STATUS: Partial<Record<RefusalCode, ExitStatus>> = {
  invalid: EXIT.usage,
  erased: EXIT.erased,
};

/** Who sits at the prompt, as operations know them: whoever reaches the servers may do anything. */
export function callOf(
  { io, session }: Context,
  { signal = new AbortController().signal }: Pick<CallOptions, 'signal'> = {},
): Call {
  return {
    actor: { kind: 'command-line', name: whoActs(io.env), role: 'administrator', workspaces: [] },
    requestId: null,
    signal,
    warn: (sentence, error) => {
      if (error === null) return remark(io, `${sentence}.`);
      const why = explain(error, session).sentence.replace(/\.$/, '');
      remark(io, `${sentence}. For now: ${why}.`);
    },
  };
}

export function connectionsOf(session: Session): Connections {
  return {
    get store() {
      return session.store();
    },
    redis: session.redis,
    failed: session.failed,
    intake: session.operations,
    keyring: session.keyring,
    get erasureLedger() {
      return session.erasureLedger();
    },
    get consentKey() {
      return session.consentKey();
    },
    deliveries: session.deliveries,
    get receiverUrl() {
      return session.servers().receiverUrl;
    },
    runner: session.runner,
  };
}

/** LEADGATE_OPERATOR, for machines where everybody is one user; else the user of the system. */
export function whoActs(env: Io['env']): string {
  const named = env['LEADGATE_OPERATOR']?.trim();
  if (named !== undefined && named !== '') return named.slice(0, 200);
  try {
    return userInfo().username;
  } catch {
    // A container's user often has a number only.
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
