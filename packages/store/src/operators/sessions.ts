import { randomSecret, secretHash } from './secret.ts';
import { readOperator, type Operator } from './operator.ts';
import type { Store } from '../open-store.ts';

/** A working day: whoever was signed in on a lost laptop is not for long. */
const SESSION_HOURS = 12;

/** A session that was opened; its token is shown this once. */
export interface OpenedSession {
  token: string;
  expiresAt: Date;
}

/** Opens a session of an operator, and clears away what has expired, by Postgres's clock. */
export async function openSession(
  { prisma }: { prisma: Pick<Store['prisma'], '$executeRaw' | '$queryRaw'> },
  operatorId: string,
): Promise<OpenedSession> {
  const token = randomSecret();
  await prisma.$executeRaw`DELETE FROM operator_session WHERE expires_at <= now()`;
  const [row] = await prisma.$queryRaw<[{ expiresAt: Date }]>`
    INSERT INTO operator_session (token_hash, operator_id, expires_at)
    VALUES (${secretHash(token)}, ${operatorId}::uuid, now() + make_interval(hours => ${SESSION_HOURS}::int))
    RETURNING expires_at AS "expiresAt"`;
  return { token, expiresAt: row.expiresAt };
}

/** Whose session it is; null where it has ended. */
export async function findSession(store: Store, token: string): Promise<Operator | null> {
  const [row] = await store.prisma.$queryRaw<Operator[]>`
    SELECT o.id, o.name, o.role, o.created_at AS "createdAt"
    FROM operator_session s JOIN operator o ON o.id = s.operator_id
    WHERE s.token_hash = ${secretHash(token)} AND s.expires_at > now()`;
  return row === undefined ? null : readOperator(row);
}

/** Ends a session. One that has ended already is no matter. */
export async function endSession(store: Store, token: string): Promise<void> {
  await store.prisma.operatorSession.deleteMany({ where: { tokenHash: secretHash(token) } });
}
