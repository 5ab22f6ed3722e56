import type { FieldError } from '@leadgate/contract';
import { randomUUID } from 'node:crypto';
import { displayText, nameErrors } from '../display-text.ts';
import type { Store } from '../open-store.ts';
import { databaseTime } from '../partitions/retention.ts';
import { isUniqueViolation } from '../unique-violation.ts';
import { readRole, roleErrors, type Role } from './operator.ts';
import { randomSecret, secretHash } from './secret.ts';

/** A token for programs. Its secret is not known any more. */
export interface ApiToken {
  id: string;
  /** Unique among those in force. */
  name: string;
  role: Role;
  createdAt: Date;
  /** To the minute. */
  lastUsedAt: Date | null;
  revokedAt: Date | null;
}

export type TokenCreation =
  /** `secret` goes into `Authorization: Bearer …`; it is told this once. */
  | { kind: 'created'; token: ApiToken; secret: string }
  | { kind: 'name-taken'; name: string }
  | { kind: 'invalid'; errors: FieldError[] };

/** By which a scanner of leaked secrets knows one. */
const PREFIX = 'lg_';

const columns = {
  id: true,
  name: true,
  role: true,
  createdAt: true,
  lastUsedAt: true,
  revokedAt: true,
} as const;

/** Creates an API token. */
export async function createToken(
  store: Store,
  input: { name: string; role: Role },
): Promise<TokenCreation> {
  const name = displayText(input.name);
  const errors = [...nameErrors(name), ...roleErrors(input.role)];
  if (errors.length > 0) return { kind: 'invalid', errors };
  const secret = `${PREFIX}${randomSecret()}`;
  try {
    const row = await store.prisma.apiToken.create({
      data: { id: randomUUID(), name, role: input.role, tokenHash: secretHash(secret) },
      select: columns,
    });
    return { kind: 'created', token: readToken(row), secret };
  } catch (error) {
    if (isUniqueViolation(error)) return { kind: 'name-taken', name };
    throw error;
  }
}

/** Every token, revoked ones too, newest first. */
export async function listTokens(store: Store): Promise<ApiToken[]> {
  const rows = await store.prisma.apiToken.findMany({
    select: columns,
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
  });
  return rows.map(readToken);
}

/** Revokes the token of a name or id, for good. Null where none in force has it. */
export async function revokeToken(store: Store, nameOrId: string): Promise<ApiToken | null> {
  const token = (await listTokens(store)).find(
    ({ id, name, revokedAt }) => revokedAt === null && (id === nameOrId || name === nameOrId),
  );
  if (token === undefined) return null;
  const revokedAt = await databaseTime(store);
  await store.prisma.apiToken.updateMany({
    where: { id: token.id, revokedAt: null },
    data: { revokedAt },
  });
  return { ...token, revokedAt };
}

/** The token of a secret; null where it is none, or was revoked. */
export async function findToken(store: Store, secret: string): Promise<ApiToken | null> {
  if (!secret.startsWith(PREFIX)) return null;
  const row = await store.prisma.apiToken.findFirst({
    where: { tokenHash: secretHash(secret), revokedAt: null },
    select: columns,
  });
  if (row === null) return null;
  await noteUse(store, row);
  return readToken(row);
}

/** To the minute. */
async function noteUse(store: Store, token: { id: string }) {
  await store.prisma.$executeRaw`
    UPDATE api_token SET last_used_at = now()
    WHERE id = ${token.id}::uuid
      AND (last_used_at IS NULL OR last_used_at <= now() - interval '1 minute')`;
}

function readToken(row: Omit<ApiToken, 'role'> & { role: string }): ApiToken {
  return { ...row, role: readRole(row.role) };
}
