import { type Access, type FieldError, readRole, type Role, roleErrors } from '@leadgate/contract';
import { randomUUID } from 'node:crypto';
import { hashPassword, passwordErrors, randomSecret, secretHash } from './credentials.ts';
import { isForeignKeyViolation, isNotFound, isUniqueViolation } from './failure-of.ts';
import type { Prisma } from './generated/client.ts';
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
export const operatorColumns = {
  id: true,
  name: true,
  role: true,
  totpSecret: true,
  _count: { select: { keys: true } },
  createdAt: true,
  workspaces: { select: { workspaceId: true, role: true } },
} satisfies Prisma.OperatorSelect;

export function readOperator({
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

/** A token for programs. Its secret is not known any more. */
export interface ApiToken {
  id: string;
  /** Unique among those that are not revoked. */
  name: string;
  role: Role;
  /** Where the role holds; null: everywhere. */
  workspaceId: string | null;
  /** Who made it. It is revoked when they are removed. */
  createdBy: string;
  createdAt: Date;
  /** It is good until then. */
  expiresAt: Date;
  /** To the minute. */
  lastUsedAt: Date | null;
  revokedAt: Date | null;
}

export interface NewToken {
  name: string;
  role: Role;
  workspaceId: string | null;
  /** Days that it is good for. */
  days: number;
  /** Who makes it; `operatorId` if that is an operator. */
  createdBy: { name: string; operatorId: string | null };
}

type TokenCreation =
  /** `secret` goes into `Authorization: Bearer …`; it is told this once. */
  | { kind: 'created'; token: ApiToken; secret: string }
  | { kind: 'name-taken'; name: string }
  | { kind: 'unknown-workspace' }
  | { kind: 'invalid'; errors: FieldError[] };

export const LONGEST_TOKEN_DAYS = 366;
const DAY_MS = 86_400_000;

/** By which a scanner of leaked secrets knows one. */
const PREFIX = 'lg_';

const columns = {
  id: true,
  name: true,
  role: true,
  workspaceId: true,
  createdBy: true,
  createdAt: true,
  expiresAt: true,
  lastUsedAt: true,
  revokedAt: true,
} satisfies Prisma.ApiTokenSelect;

export async function createToken(store: Store, input: NewToken): Promise<TokenCreation> {
  const name = displayText(input.name);
  const errors = [...nameErrors(name), ...roleErrors(input.role), ...dayErrors(input.days)];
  if (errors.length > 0) return { kind: 'invalid', errors };
  const { role, workspaceId, days, createdBy } = input;
  const secret = `${PREFIX}${randomSecret()}`;
  try {
    const expiresAt = new Date((await databaseTime(store)).getTime() + days * DAY_MS);
    const row = await store.prisma.apiToken.create({
      data: {
        ...{ id: randomUUID(), name, role, workspaceId, expiresAt, tokenHash: secretHash(secret) },
        ...{ createdBy: createdBy.name, createdById: createdBy.operatorId },
      },
      select: columns,
    });
    return { kind: 'created', token: readToken(row), secret };
  } catch (error) {
    if (isUniqueViolation(error)) return { kind: 'name-taken', name };
    if (isForeignKeyViolation(error)) return { kind: 'unknown-workspace' };
    throw error;
  }
}

function dayErrors(days: number): FieldError[] {
  if (Number.isInteger(days) && days >= 1 && days <= LONGEST_TOKEN_DAYS) return [];
  const detail = `A token is good for 1 to ${LONGEST_TOKEN_DAYS} days.`;
  return [{ pointer: '/days', code: 'invalid', detail }];
}

/** Every token, revoked and ended ones too, newest first. */
export async function listTokens(store: Store): Promise<ApiToken[]> {
  const rows = await store.prisma.apiToken.findMany({
    select: columns,
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
  });
  return rows.map(readToken);
}

/** Revokes the token of a name or id, for good. Null if none that is not revoked has it. */
export async function revokeToken(store: Store, nameOrId: string): Promise<ApiToken | null> {
  const token = (await listTokens(store)).find(
    ({ id, name, revokedAt }) => revokedAt === null && (id === nameOrId || name === nameOrId),
  );
  if (token === undefined) return null;
  const [row] = await store.prisma.$queryRaw<{ revokedAt: Date }[]>`
    UPDATE api_token SET revoked_at = now() WHERE id = ${token.id}::uuid AND revoked_at IS NULL
    RETURNING revoked_at AS "revokedAt"`;
  return row === undefined ? null : { ...token, ...row };
}

/** The token of a secret; null if it is none, was revoked, or has ended. */
export async function findToken(store: Store, secret: string): Promise<ApiToken | null> {
  if (!secret.startsWith(PREFIX)) return null;
  const [found] = await store.prisma.$queryRaw<{ id: string; old: boolean }[]>`
    SELECT id, last_used_at IS NULL OR last_used_at <= now() - interval '1 minute' AS old
    FROM api_token
    WHERE token_hash = ${secretHash(secret)} AND revoked_at IS NULL AND expires_at > now()`;
  if (found === undefined) return null;
  if (found.old)
    await store.prisma.$executeRaw`
      UPDATE api_token SET last_used_at = now() WHERE id = ${found.id}::uuid`;
  const row = await store.prisma.apiToken.findUnique({
    where: { id: found.id },
    select: columns,
  });
  return row === null ? null : readToken(row);
}

function readToken(row: Omit<ApiToken, 'role'> & { role: string }): ApiToken {
  return { ...row, role: readRole(row.role) };
}
