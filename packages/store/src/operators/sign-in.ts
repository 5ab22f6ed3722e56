import { displayText } from '../display-text.ts';
import type { Store } from '../open-store.ts';
import { operatorColumns, readOperator, type Operator } from './operator.ts';
import { isPassword } from './password-hash.ts';
import { openSession, type OpenedSession } from './sessions.ts';
import { countAttempt, forgetAttempts, type SignInAttempt } from './sign-in-attempts.ts';

export interface SignInRequest extends SignInAttempt {
  password: string;
}

export type SignIn =
  | { kind: 'signed-in'; operator: Operator; session: OpenedSession }
  /** Name or password are wrong: which of them is not told, and not to be seen from the time. */
  | { kind: 'refused' }
  | { kind: 'slowed'; retryAfterSeconds: number };

/** Opens a session for a name and its password. Attempts are slowed by name and address, or by device. */
export async function signIn(store: Store, request: SignInRequest): Promise<SignIn> {
  const { password, address, device } = request;
  const name = displayText(request.name);
  const wait = await countAttempt(store, { name, address, device });
  if (wait !== null) return { kind: 'slowed', retryAfterSeconds: wait };
  const found = await store.prisma.operator.findUnique({
    where: { name },
    select: { ...operatorColumns, passwordHash: true },
  });
  const fits = await isPassword(password, found?.passwordHash ?? null);
  if (!fits || found === null) return { kind: 'refused' };
  await forgetAttempts(store, { name, address, device });
  const { passwordHash: _, ...row } = found;
  const session = await openSession(store, row.id);
  return { kind: 'signed-in', operator: readOperator(row), session };
}
