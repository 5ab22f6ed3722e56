import type { FieldError } from '@leadgate/contract';
import type { Store } from '../open-store.ts';
import { passwordErrors } from './operator.ts';
import { hashPassword } from './password-hash.ts';

export type PasswordChange =
  { kind: 'changed' } | { kind: 'unknown-operator' } | { kind: 'invalid'; errors: FieldError[] };

/** Gives an operator another password and ends all their sessions. */
export async function changePassword(
  store: Store,
  name: string,
  password: string,
): Promise<PasswordChange> {
  const errors = passwordErrors(password);
  if (errors.length > 0) return { kind: 'invalid', errors };
  const passwordHash = await hashPassword(password);
  const [{ count }] = await store.prisma.$transaction([
    store.prisma.operator.updateMany({ where: { name }, data: { passwordHash } }),
    store.prisma.operatorSession.deleteMany({ where: { operator: { name } } }),
  ]);
  return count > 0 ? { kind: 'changed' } : { kind: 'unknown-operator' };
}
