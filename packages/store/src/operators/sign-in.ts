import { displayText } from '../display-text.ts';
import type { Store } from '../open-store.ts';
import { operatorColumns, readOperator, type Operator } from './operators.ts';
import { isPassword } from './password.ts';
import { takeCode } from './second-factor.ts';
import { openSession, type OpenedSession } from './sessions.ts';
import { countAttempt, forgetAttempts, type SignInAttempt } from './sign-in-attempts.ts';

export interface SignInRequest extends SignInAttempt {
  password: string;
  /** What the browser says of itself. */
  browser: string;
  /** Of the authenticator; empty if none was typed. */
  secondFactor: string;
}

export type SignIn =
  | { kind: 'signed-in'; operator: Operator; session: OpenedSession }
  /** Name, password or code are wrong: which of them is not told, and not to be seen from the time. */
  | { kind: 'refused' }
  /** Name and password are right, and a code of the authenticator is needed too. */
  | { kind: 'code-needed' }
  | { kind: 'slowed'; retryAfterSeconds: number };

export type PasswordProof =
  { kind: 'right' } | { kind: 'wrong' } | { kind: 'slowed'; retryAfterSeconds: number };

/** Whether somebody who is signed in knows their password. Tries are slowed for each of them. */
export async function provePassword(
  store: Store,
  operatorId: string,
  password: string,
): Promise<PasswordProof> {
  const attempt = { name: '', address: '', device: `own password of ${operatorId}` };
  const wait = await countAttempt(store, attempt);
  if (wait !== null) return { kind: 'slowed', retryAfterSeconds: wait };
  const row = await store.prisma.operator.findUnique({
    where: { id: operatorId },
    select: { passwordHash: true },
  });
  if (!(await isPassword(password, row?.passwordHash ?? null))) return { kind: 'wrong' };
  await forgetAttempts(store, attempt);
  return { kind: 'right' };
}

/**
 * Opens a session for a name, its password, and a code if it has a second factor, which is encrypted
 * under `key`. Attempts are slowed by name and address, or by device.
 */
export async function signIn(
  store: Store,
  request: SignInRequest,
  key: Uint8Array,
): Promise<SignIn> {
  const { password, address, device, browser, secondFactor } = request;
  const name = displayText(request.name);
  const wait = await countAttempt(store, { name, address, device });
  if (wait !== null) return { kind: 'slowed', retryAfterSeconds: wait };
  const found = await store.prisma.operator.findUnique({
    where: { name },
    select: { ...operatorColumns, passwordHash: true },
  });
  const fits = await isPassword(password, found?.passwordHash ?? null);
  if (!fits || found === null) return { kind: 'refused' };
  const { passwordHash: _, ...row } = found;
  const { id, totpSecret } = row;
  if (totpSecret !== null) {
    if (secondFactor === '') return { kind: 'code-needed' };
    if (!(await takeCode(store, { id, totpSecret }, secondFactor, key))) return { kind: 'refused' };
  }
  await forgetAttempts(store, { name, address, device });
  const session = await openSession(store, id, browser);
  return { kind: 'signed-in', operator: readOperator(row), session };
}
