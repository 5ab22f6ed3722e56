import { type FieldError, readRole, type Role, roleErrors } from '@leadgate/contract';
import { randomUUID } from 'node:crypto';
import { randomSecret, secretHash } from './credentials.ts';
import { isForeignKeyViolation, isUniqueViolation } from './failure-of.ts';
import type { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { databaseTime } from './time.ts';
import { displayText, nameErrors } from './text.ts';

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

/** Creates an API token. */
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
