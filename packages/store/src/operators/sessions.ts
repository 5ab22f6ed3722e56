import { randomSecret, secretHash } from './secret.ts';
import { operatorColumns, readOperator, type Operator } from './operator.ts';
import type { Store } from '../open-store.ts';

/** A working day: whoever was signed in on a lost laptop is not for long. */
const SESSION_HOURS = 12;

/** A session that was opened; its token is shown this once. */
export interface OpenedSession {
  token: string;
  expiresAt: Date;
}

/** Opens a session of an operator, and clears away what has expired. */
export async function openSession(
  { prisma }: { prisma: Pick<Store['prisma'], 'operatorSession'> },
  operatorId: string,
): Promise<OpenedSession> {
  const token = randomSecret();
  const expiresAt = new Date(Date.now() + SESSION_HOURS * 3_600_000);
  await prisma.operatorSession.deleteMany({ where: { expiresAt: { lte: new Date() } } });
  await prisma.operatorSession.create({
    data: { tokenHash: secretHash(token), operatorId, expiresAt },
  });
  return { token, expiresAt };
}

/** Whose session it is; null where it has ended. */
export async function findSession(store: Store, token: string): Promise<Operator | null> {
  const row = await store.prisma.operatorSession.findFirst({
    where: { tokenHash: secretHash(token), expiresAt: { gt: new Date() } },
    select: { operator: { select: operatorColumns } },
  });
  return row === null ? null : readOperator(row.operator);
}

/** Ends a session. One that has ended already is no matter. */
export async function endSession(store: Store, token: string): Promise<void> {
  await store.prisma.operatorSession.deleteMany({ where: { tokenHash: secretHash(token) } });
}
