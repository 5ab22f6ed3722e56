import type { Keyring } from '@leadgate/boot';
import { type Access, type FieldError, readRole, type Role, roleErrors } from '@leadgate/contract';
import { normalized } from '@leadgate/leads';
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { isIPv6 } from 'node:net';
import {
  askSecurityKey,
  type AuthenticationResponseJSON,
  hashPassword,
  isPassword,
  passwordErrors,
  type PublicKeyCredentialRequestOptionsJSON,
  randomSecret,
  readTypedSecret,
  secretHash,
  takeCode,
  takeSecurityKey,
  typedSecret,
} from './credentials.ts';
import { isForeignKeyViolation, isNotFound, isUniqueViolation } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { databaseTime, displayText, nameErrors } from './statements.ts';

/** A person who may use the console. */
export interface Operator extends Access {
  id: string;
  /** Unique. */
  name: string;
  /** Whether a code of an authenticator, or a security key, is asked for at sign-in. */
  hasSecondFactor: boolean;
  /** Whether a code of an authenticator is. */
  hasAuthenticator: boolean;
  createdAt: Date;
}

/** The columns of an Operator: never the hash of the password. */
const operatorColumns = {
  id: true,
  name: true,
  role: true,
  totpSecret: true,
  _count: { select: { keys: true } },
  createdAt: true,
  workspaces: { select: { workspaceId: true, role: true } },
} satisfies Prisma.OperatorSelect;

function readOperator({
  totpSecret,
  _count,
  ...row
}: Prisma.OperatorGetPayload<{ select: typeof operatorColumns }>): Operator {
  return {
    ...row,
    role: row.role === null ? null : readRole(row.role),
    workspaces: row.workspaces.map(({ workspaceId, role }) => ({
      workspaceId,
      role: readRole(role),
    })),
    hasAuthenticator: totpSecret !== null,
    hasSecondFactor: totpSecret !== null || _count.keys > 0,
  };
}

interface NewOperator {
  name: string;
  password: string;
  role: Role;
  /** Where the role holds; null: everywhere. */
  workspaceId: string | null;
}

type OperatorAddition =
  | { kind: 'added'; operator: Operator }
  | { kind: 'name-taken'; name: string }
  | { kind: 'unknown-workspace' }
  | { kind: 'invalid'; errors: FieldError[] };

/** Adds a person who may sign in to the console. */
export async function addOperator(store: Store, input: NewOperator): Promise<OperatorAddition> {
  const name = displayText(input.name);
  const errors = [
    ...nameErrors(name),
    ...(await passwordErrors(input.password, name)),
    ...roleErrors(input.role),
  ];
  if (errors.length > 0) return { kind: 'invalid', errors };
  const { role, workspaceId } = input;
  const passwordHash = await hashPassword(input.password);
  const access =
    workspaceId === null ? { role } : { workspaces: { create: { workspaceId, role } } };
  try {
    const row = await store.prisma.operator.create({
      data: { id: randomUUID(), name, passwordHash, ...access },
      select: operatorColumns,
    });
    return { kind: 'added', operator: readOperator(row) };
  } catch (error) {
    if (isUniqueViolation(error)) return { kind: 'name-taken', name };
    if (isForeignKeyViolation(error)) return { kind: 'unknown-workspace' };
    throw error;
  }
}

/** Everybody who may sign in to the console, by name. */
export async function listOperators(store: Store): Promise<Operator[]> {
  const rows = await store.prisma.operator.findMany({
    select: operatorColumns,
    orderBy: { name: 'asc' },
  });
  return rows.map(readOperator);
}

export async function findOperator(store: Store, id: string): Promise<Operator | null> {
  const row = await store.prisma.operator.findUnique({ where: { id }, select: operatorColumns });
  return row === null ? null : readOperator(row);
}

type AccessChange =
  { kind: 'changed'; operator: Operator } | { kind: 'unknown-operator' | 'unknown-workspace' };

/** Gives an operator a role everywhere, or in one workspace; null takes it away. */
export async function changeAccess(
  store: Store,
  name: string,
  { role, workspaceId }: { role: Role | null; workspaceId: string | null },
): Promise<AccessChange> {
  try {
    const row = await store.prisma.operator.update({
      where: { name },
      data:
        workspaceId === null
          ? { role }
          : {
              workspaces: {
                deleteMany: { workspaceId },
                ...(role !== null && { create: { workspaceId, role } }),
              },
            },
      select: operatorColumns,
    });
    return { kind: 'changed', operator: readOperator(row) };
  } catch (error) {
    if (isNotFound(error)) return { kind: 'unknown-operator' };
    if (isForeignKeyViolation(error)) return { kind: 'unknown-workspace' };
    throw error;
  }
}

type PasswordChange =
  { kind: 'changed' } | { kind: 'unknown-operator' } | { kind: 'invalid'; errors: FieldError[] };

/** Gives an operator another password, and ends all their sessions but the one of an id. */
export async function changePassword(
  store: Store,
  name: string,
  password: string,
  keptSessionId: string | null = null,
): Promise<PasswordChange> {
  const errors = await passwordErrors(password, name);
  if (errors.length > 0) return { kind: 'invalid', errors };
  const passwordHash = await hashPassword(password);
  const kept = keptSessionId === null ? {} : { id: { not: keptSessionId } };
  const [{ count }] = await store.prisma.$transaction([
    store.prisma.operator.updateMany({ where: { name }, data: { passwordHash } }),
    store.prisma.operatorSession.deleteMany({ where: { operator: { name }, ...kept } }),
  ]);
  return count > 0 ? { kind: 'changed' } : { kind: 'unknown-operator' };
}

/** A filter of leads under a name: the query of its address, which names no person. */
interface View {
  name: string;
  query: string;
}

export async function listViews({ prisma }: Store, operatorId: string): Promise<View[]> {
  const [row] = await prisma.$queryRaw<{ views: View[] }[]>`
    SELECT views FROM operator WHERE id = ${operatorId}::uuid`;
  return row?.views ?? [];
}

/** Keeps these views of an operator, and no other. */
export async function keepViews(
  { prisma }: Store,
  operatorId: string,
  views: readonly View[],
): Promise<void> {
  await prisma.$executeRaw`
    UPDATE operator SET views = ${JSON.stringify(views)}::jsonb WHERE id = ${operatorId}::uuid`;
}

/**
 * Removes an operator, ends their sessions at once and revokes the tokens they made. False if there
 * is none of this name.
 */
export async function removeOperator(store: Store, name: string): Promise<boolean> {
  const [, { count }] = await store.prisma.$transaction([
    store.prisma.$executeRaw`
      UPDATE api_token SET revoked_at = now() FROM operator o
      WHERE o.name = ${name} AND created_by_id = o.id AND revoked_at IS NULL`,
    store.prisma.operator.deleteMany({ where: { name } }),
  ]);
  return count > 0;
}

interface SignInRequest extends SignInAttempt {
  password: string;
  /** What the browser says of itself. */
  browser: string;
  /** Of the authenticator; empty if none was typed. */
  secondFactor: string;
  /** Where the console is, as its browser sees it. */
  origin: string;
}

type SignIn =
  | { kind: 'signed-in'; operator: Operator; session: OpenedSession }
  /** Name, password or code are wrong: which of them is not told, and not to be seen from the time. */
  | { kind: 'refused' }
  /** Name and password are right, and a code of the authenticator is needed too. */
  | { kind: 'code-needed' }
  /** As that, and a security key will do: what a browser asks it with. */
  | { kind: 'key-needed'; options: PublicKeyCredentialRequestOptionsJSON | null; orCode: boolean }
  | { kind: 'slowed'; retryAfterSeconds: number };

type PasswordProof =
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
 * under `keyring`. Attempts are slowed by name and address, or by device.
 */
export async function signIn(
  store: Store,
  request: SignInRequest,
  keyring: Keyring,
): Promise<SignIn> {
  const { password, address, device, browser, secondFactor, origin } = request;
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
  if (secondFactor === '' && row._count.keys > 0) {
    const options = await askSecurityKey(store, id, origin);
    return { kind: 'key-needed', options, orCode: totpSecret !== null };
  }
  if (totpSecret !== null) {
    if (secondFactor === '') return { kind: 'code-needed' };
    if (!(await takeCode(store, { id, totpSecret }, secondFactor, keyring)))
      return { kind: 'refused' };
  } else if (row._count.keys > 0) return { kind: 'refused' };
  await forgetAttempts(store, { name, address, device });
  const session = await openSession(store, id, browser);
  return { kind: 'signed-in', operator: readOperator(row), session };
}

interface KeySignInRequest extends Pick<SignInRequest, 'address' | 'browser' | 'origin'> {
  answer: AuthenticationResponseJSON;
  /** As `device` of an attempt, for the name that it turns out to be. */
  deviceOf: (name: string) => string | null;
}

/**
 * Opens a session for whose security key answered: the challenge that it signed was given for the
 * right name and password, and works once.
 */
export async function signInWithKey(
  store: Store,
  { answer, origin, browser, address, deviceOf }: KeySignInRequest,
): Promise<Extract<SignIn, { kind: 'signed-in' | 'refused' }>> {
  const id = await takeSecurityKey(store, answer, origin);
  const operator = id === null ? null : await findOperator(store, id);
  if (operator === null) return { kind: 'refused' };
  const { name } = operator;
  await forgetAttempts(store, { name, address, device: deviceOf(name) });
  return { kind: 'signed-in', operator, session: await openSession(store, operator.id, browser) };
}

const CODE_MINUTES = 15;

type FirstCode = { kind: 'issued'; code: string; expiresAt: Date } | { kind: 'not-needed' };

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
  request: Omit<SignInRequest, 'device' | 'secondFactor' | 'origin'> & { code: string },
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

/** What is tried freely before it is slowed. */
const FREE = 5;

/** The first wait; it doubles from then on. */
const FIRST_WAIT_SECONDS = 15;

/**
 * The longest wait in seconds. A name's is short, so that a stranger who knows it cannot keep its
 * owner out: even so a name can be tried no more than 3,000 times a day.
 */
const LONGEST_WAIT = { name: 30, address: 900, device: 900 };

/** Attempts older than this are forgotten. */
const FORGOTTEN_AFTER_SECONDS = 3_600;

interface SignInAttempt {
  name: string;
  /** The network address it comes from. */
  address: string;
  /**
   * A browser on which this name has signed in before. Its tries are counted by themselves (OWASP,
   * device cookies): what strangers try, from wherever, does not keep it out.
   */
  device: string | null;
}

/**
 * Counts an attempt to sign in before it is looked at, so that many at once are no way round.
 * Returns the seconds to wait where its name or address has tried too often; it is not counted then.
 */
export async function countAttempt(store: Store, attempt: SignInAttempt): Promise<number | null> {
  if (attempt.device !== null)
    return count(store, bucketOf('device', attempt.device), LONGEST_WAIT.device);
  const address = bucketOf('address', networkOf(attempt.address));
  const waitOfAddress = await count(store, address, LONGEST_WAIT.address);
  if (waitOfAddress !== null) return waitOfAddress;
  return count(store, bucketOf('name', attempt.name), LONGEST_WAIT.name);
}

/** Forgets the attempts that were counted with this one: it ended well. */
async function forgetAttempts(store: Store, attempt: SignInAttempt): Promise<void> {
  const buckets =
    attempt.device === null
      ? [bucketOf('address', networkOf(attempt.address)), bucketOf('name', attempt.name)]
      : [bucketOf('device', attempt.device)];
  await store.prisma.signInAttempt.deleteMany({ where: { bucket: { in: buckets } } });
}

/** Doubles the wait with every attempt beyond the free ones. */
async function count(store: Store, bucket: string, longest: number): Promise<number | null> {
  const old = Prisma.sql`(a.last_at < now() - make_interval(secs => ${FORGOTTEN_AFTER_SECONDS}::float8))`;
  const counted = await store.prisma.$queryRaw<unknown[]>`
    INSERT INTO sign_in_attempt AS a (bucket, attempts, last_at, free_at)
    VALUES (${bucket}, 1, now(), to_timestamp(0))
    ON CONFLICT (bucket) DO UPDATE SET
      attempts = CASE WHEN ${old} THEN 1 ELSE least(a.attempts + 1, 1000) END,
      last_at = now(),
      -- Not now(): of attempts at once, the transaction of one may have begun before this one's.
      free_at = CASE WHEN ${old} OR a.attempts + 1 < ${FREE}::int THEN to_timestamp(0)
        ELSE now() + make_interval(secs =>
          least(${longest}::float8, ${FIRST_WAIT_SECONDS}::float8 * power(2, least(a.attempts + 1 - ${FREE}::int, 20)))) END
    WHERE a.free_at <= now()
    RETURNING 1`;
  if (counted.length > 0) return null;
  const [row] = await store.prisma.$queryRaw<{ seconds: number }[]>`
    SELECT ceil(extract(epoch FROM free_at - now()))::float8 AS seconds
    FROM sign_in_attempt WHERE bucket = ${bucket}`;
  return Math.max(1, row?.seconds ?? 1);
}

function bucketOf(kind: keyof typeof LONGEST_WAIT, text: string): string {
  const hash = createHash('sha256').update(normalized(text, 'NFC').trim()).digest('hex');
  return `${kind}:${hash.slice(0, 4)}`;
}

/** A household has a /64 of IPv6 and could use each of its addresses once. */
function networkOf(address: string): string {
  if (!isIPv6(address) || /^::ffff:\d+\./i.test(address)) return address.replace(/^::ffff:/i, '');
  const [head = '', tail = ''] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const end = tail === '' ? [] : tail.split(':');
  const zeros = address.includes('::') ? Math.max(0, 8 - groups.length - end.length) : 0;
  return [...groups, ...Array<string>(zeros).fill('0'), ...end].slice(0, 4).join(':');
}

/** A working day: whoever was signed in on a lost laptop is not for long. */
const SESSION_HOURS = 12;
/** Nor on one that was left alone. */
const IDLE_MINUTES = 60;

const LONGEST_BROWSER = 200;

/** A session that was opened; its token is shown this once. */
interface OpenedSession {
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
async function openSession(
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
