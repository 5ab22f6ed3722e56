import { randomSecret, secretHash } from './credentials.ts';
import type { Store } from './open-store.ts';
import { findOperator, type Operator } from './operators.ts';

/** A working day: whoever was signed in on a lost laptop is not for long. */
const SESSION_HOURS = 12;
/** Nor on one that was left alone. */
const IDLE_MINUTES = 60;

const LONGEST_BROWSER = 200;

/** A session that was opened; its token is shown this once. */
export interface OpenedSession {
  token: string;
  expiresAt: Date;
}

/** A session as its operator sees it. */
export interface SessionSummary {
  /** Opens nothing. */
  id: string;
  /** What the browser says of itself. */
  browser: string;
  createdAt: Date;
  /** To the minute. */
  lastUsedAt: Date;
  expiresAt: Date;
}

/** Opens a session of an operator, and clears away what has ended, by Postgres's clock. */
export async function openSession(
  { prisma }: { prisma: Pick<Store['prisma'], '$executeRaw' | '$queryRaw'> },
  operatorId: string,
  browser: string,
): Promise<OpenedSession> {
  const token = randomSecret();
  await prisma.$executeRaw`
    DELETE FROM operator_session
    WHERE expires_at <= now() OR last_used_at <= now() - make_interval(mins => ${IDLE_MINUTES}::int)`;
  const [row] = await prisma.$queryRaw<[{ expiresAt: Date }]>`
    INSERT INTO operator_session (token_hash, operator_id, browser, expires_at)
    VALUES (${secretHash(token)}, ${operatorId}::uuid, ${browser.slice(0, LONGEST_BROWSER)},
      now() + make_interval(hours => ${SESSION_HOURS}::int))
    RETURNING expires_at AS "expiresAt"`;
  return { token, expiresAt: row.expiresAt };
}

/** Whose session it is; null if it has ended. */
export async function findSession(
  store: Store,
  token: string,
): Promise<{ sessionId: string; operator: Operator } | null> {
  const tokenHash = secretHash(token);
  const [used] = await store.prisma.$queryRaw<{ id: string; operatorId: string; old: boolean }[]>`
    SELECT id, operator_id AS "operatorId", last_used_at <= now() - interval '1 minute' AS old
    FROM operator_session
    WHERE token_hash = ${tokenHash} AND expires_at > now()
      AND last_used_at > now() - make_interval(mins => ${IDLE_MINUTES}::int)`;
  if (used === undefined) return null;
  if (used.old)
    await store.prisma.$executeRaw`
      UPDATE operator_session SET last_used_at = now() WHERE token_hash = ${tokenHash}`;
  const operator = await findOperator(store, used.operatorId);
  return operator === null ? null : { sessionId: used.id, operator };
}

/** The sessions of an operator, the last used first. */
export async function listSessions(store: Store, operatorId: string): Promise<SessionSummary[]> {
  return store.prisma.operatorSession.findMany({
    where: { operatorId },
    select: { id: true, browser: true, createdAt: true, lastUsedAt: true, expiresAt: true },
    orderBy: { lastUsedAt: 'desc' },
  });
}

/** Ends a session. One that has ended already is no matter. */
export async function endSession(store: Store, token: string): Promise<void> {
  await store.prisma.operatorSession.deleteMany({ where: { tokenHash: secretHash(token) } });
}

/** Ends a session of an operator by its id. False if there is none. */
export async function endSessionById(
  store: Store,
  operatorId: string,
  id: string,
): Promise<boolean> {
  const { count } = await store.prisma.operatorSession.deleteMany({ where: { id, operatorId } });
  return count > 0;
}
