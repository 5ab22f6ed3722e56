import type { FieldError } from '@leadgate/contract';
import { randomUUID, timingSafeEqual } from 'node:crypto';
import { displayText, nameErrors } from '../display-text.ts';
import type { Store } from '../open-store.ts';
import { databaseTime } from '../partitions/retention.ts';
import { operatorColumns, readOperator } from './operators.ts';
import { hashPassword, passwordErrors } from './password.ts';
import { readTypedSecret, secretHash, typedSecret } from './secret.ts';
import { openSession } from './sessions.ts';
import { countAttempt, forgetAttempts } from './sign-in-attempts.ts';
import type { SignIn, SignInRequest } from './sign-in.ts';

const CODE_MINUTES = 15;

export type FirstCode = { kind: 'issued'; code: string; expiresAt: Date } | { kind: 'not-needed' };

/**
 * A one-time code that lets whoever reads it make the first operator, for 15 minutes. It replaces
 * the one before. `not-needed` once there is an operator.
 */
export async function issueFirstCode(store: Store): Promise<FirstCode> {
  if (await hasOperators(store)) return { kind: 'not-needed' };
  const code = typedSecret(3);
  const codeHash = secretHash(code);
  const expiresAt = new Date((await databaseTime(store)).getTime() + CODE_MINUTES * 60_000);
  await store.prisma.firstCode.upsert({
    where: { onlyRow: true },
    create: { codeHash, expiresAt },
    update: { codeHash, expiresAt },
  });
  return { kind: 'issued', code, expiresAt };
}

/** Whether anybody may sign in yet. */
export async function hasOperators({
  prisma,
}: {
  prisma: Pick<Store['prisma'], 'operator'>;
}): Promise<boolean> {
  return (await prisma.operator.findFirst({ select: { id: true } })) !== null;
}

export type FirstSignIn = SignIn | { kind: 'invalid'; errors: FieldError[] };

/**
 * Makes the first operator, an administrator with the chosen name and password, and signs them in. `refused` where
 * the code is wrong, used or expired, or there is an operator already.
 */
export async function signInFirst(
  store: Store,
  request: Omit<SignInRequest, 'device' | 'secondFactor'> & { code: string },
): Promise<FirstSignIn> {
  const name = displayText(request.name);
  // One bucket for all codes: there is one code.
  const attempt = { name: 'first code', address: request.address, device: null };
  const wait = await countAttempt(store, attempt);
  if (wait !== null) return { kind: 'slowed', retryAfterSeconds: wait };
  const codeHash = secretHash(readTypedSecret(request.code));
  if (!(await isFirstCode(store, codeHash))) return { kind: 'refused' };
  const errors = [...nameErrors(name), ...(await passwordErrors(request.password, name))];
  if (errors.length > 0) {
    await forgetAttempts(store, attempt);
    return { kind: 'invalid', errors };
  }
  const passwordHash = await hashPassword(request.password);
  const now = await databaseTime(store);
  const signedIn = await store.prisma.$transaction(async (tx): Promise<SignIn> => {
    // Whoever takes the code away is the one: of two at once, the other finds none.
    const { count } = await tx.firstCode.deleteMany({
      where: { codeHash, expiresAt: { gt: now } },
    });
    if (count === 0 || (await hasOperators({ prisma: tx }))) return { kind: 'refused' };
    const row = await tx.operator.create({
      data: { id: randomUUID(), name, role: 'administrator', passwordHash },
      select: operatorColumns,
    });
    const session = await openSession({ prisma: tx }, row.id, request.browser);
    return { kind: 'signed-in', operator: readOperator(row), session };
  });
  if (signedIn.kind === 'signed-in') await forgetAttempts(store, attempt);
  return signedIn;
}

async function isFirstCode(store: Store, codeHash: Uint8Array): Promise<boolean> {
  const expiresAt = { gt: await databaseTime(store) };
  const row = await store.prisma.firstCode.findFirst({ where: { expiresAt } });
  return row !== null && timingSafeEqual(row.codeHash, codeHash);
}
