import type { Keyring } from '@leadgate/boot';
import { type FieldError, readRole, type Role, roleErrors } from '@leadgate/contract';
import { normalized } from '@leadgate/leads';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { createHash, randomBytes, randomUUID, scrypt, timingSafeEqual } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { isForeignKeyViolation, isUniqueViolation } from './failure-of.ts';
import type { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { databaseTime, displayText, nameErrors } from './statements.ts';

const SHORTEST = 10;
const LONGEST = 200;

/** Of zxcvbn's 0 to 4: more than 10^8 guesses, far more than sign-ins that are slowed let anybody make. */
const LEAST_SCORE = 3;

/**
 * What is wrong with a password: too short, too long, or among the first that are guessed, the name
 * of its owner and of this product included (NIST SP 800-63B; OWASP ASVS 5.0, 6.2). Nothing else is
 * asked of it.
 */
export async function passwordErrors(password: string, name: string): Promise<FieldError[]> {
  const refused = (detail: string) => [{ pointer: '/password', code: 'invalid', detail }];
  const length = [...password].length;
  if (length < SHORTEST || length > LONGEST)
    return refused(`The password needs ${SHORTEST} to ${LONGEST} characters.`);
  if ((await guessability(password, name)) >= LEAST_SCORE) return [];
  return refused(
    'The password is among the first that are guessed: take four words at random, or one made up by a password manager.',
  );
}

async function guessability(password: string, name: string): Promise<number> {
  zxcvbn ??= loadZxcvbn();
  return (await zxcvbn).check(password, [name, ...name.split(/\s+/), 'leadgate']).score;
}

/** Its dictionary is large, and loaded once, if a password is chosen. */
let zxcvbn: ReturnType<typeof loadZxcvbn> | undefined;

async function loadZxcvbn() {
  const [{ ZxcvbnFactory }, { adjacencyGraphs, dictionary }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ]);
  return new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
}

/** N = 2^15, r = 8, p = 3: 32 MiB and about a tenth of a second (OWASP, Password Storage). */
const NOW = { log2N: 15, r: 8, p: 3 };
const KEY_BYTES = 32;
const SALT_BYTES = 16;

/** Of several at once, the rest wait: each takes memory, and a thread that Postgres's DNS may need. */
const AT_ONCE = 2;

/** The hash of a password with its parameters and salt: `$scrypt$ln=15,r=8,p=3$salt$key`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(password, salt, NOW);
  const { log2N, r, p } = NOW;
  return `$scrypt$ln=${log2N},r=${r},p=${p}$${salt.toString('base64')}$${key.toString('base64')}`;
}

/**
 * Whether a password is the one of a hash. With null (nobody of that name) it takes as long as with
 * one, and is false.
 */
export async function isPassword(password: string, hash: string | null): Promise<boolean> {
  const known = hash === null ? null : parse(hash);
  const { salt, key, parameters } = known ?? NOBODY;
  const derived = await derive(password, salt, parameters);
  return timingSafeEqual(derived, key) && known !== null;
}

interface Parameters {
  log2N: number;
  r: number;
  p: number;
}

const NOBODY = {
  salt: Buffer.alloc(SALT_BYTES),
  key: Buffer.alloc(KEY_BYTES),
  parameters: NOW,
};

const FORMAT = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([^$]+)\$([^$]+)$/;

function parse(hash: string): typeof NOBODY | null {
  const [, log2N, r, p, salt, key] = FORMAT.exec(hash) ?? [];
  if (salt === undefined || key === undefined) return null;
  return {
    salt: Buffer.from(salt, 'base64'),
    key: Buffer.from(key, 'base64'),
    parameters: { log2N: Number(log2N), r: Number(r), p: Number(p) },
  };
}

let running = 0;
const waiting: (() => void)[] = [];

async function derive(password: string, salt: Buffer, parameters: Parameters): Promise<Buffer> {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  else running++;
  try {
    return await scryptOf(password, salt, parameters);
  } finally {
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
  }
}

function scryptOf(password: string, salt: Buffer, { log2N, r, p }: Parameters): Promise<Buffer> {
  const N = 2 ** log2N;
  // One text typed on two keyboards is one password (RFC 8265).
  const text = normalized(password, 'NFC');
  return new Promise((resolve, reject) => {
    scrypt(text, salt, KEY_BYTES, { N, r, p, maxmem: 256 * N * r }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}

/** Of the six digits of RFC 6238: 30 seconds, and the code before and after for clocks that differ. */
const STEP_SECONDS = 30;
const STEPS_AROUND = 1;

/**
 * Makes the secret of an authenticator for an operator, to be confirmed with its first code; one that
 * is in force stays until then. Returns the address that authenticators read as a QR code, which
 * holds the secret: it is shown this once.
 */
export async function beginSecondFactor(
  store: Store,
  name: string,
  keyring: Keyring,
): Promise<{ uri: string; secret: string }> {
  const secret = new Secret({ size: 20 });
  await store.prisma.operator.update({
    where: { name },
    data: { totpPending: keyring.seal(secret.bytes) },
  });
  const uri = new TOTP({ issuer: 'Leadgate', label: name, secret }).toString();
  return { uri, secret: secret.base32 };
}

/** Puts the authenticator in force if this is a code of it. */
export async function confirmSecondFactor(
  store: Store,
  name: string,
  code: string,
  keyring: Keyring,
): Promise<boolean> {
  const row = await store.prisma.operator.findUnique({ where: { name } });
  const pending = row?.totpPending ?? null;
  if (pending === null) return false;
  const step = stepOf(code, keyring.open(pending));
  if (step === null) return false;
  const { count } = await store.prisma.operator.updateMany({
    where: { name, totpPending: pending },
    data: { totpSecret: pending, totpPending: null, totpStep: step },
  });
  return count > 0;
}

/** Takes a code, once: of two who send the same one, one is refused. */
export async function takeCode(
  store: Store,
  { id, totpSecret }: { id: string; totpSecret: Uint8Array },
  code: string,
  keyring: Keyring,
): Promise<boolean> {
  const step = stepOf(code, keyring.open(totpSecret));
  if (step === null) return false;
  const { count } = await store.prisma.operator.updateMany({
    where: { id, totpStep: { lt: step } },
    data: { totpStep: step },
  });
  return count > 0;
}

/** Asks an operator for no code any more. False if there is none of this name. */
export async function removeAuthenticator(store: Store, name: string): Promise<boolean> {
  const { count } = await store.prisma.operator.updateMany({
    where: { name },
    data: { totpSecret: null, totpPending: null },
  });
  return count > 0;
}

/** Asks an operator for neither a code nor a security key any more. False if there is none of this name. */
export async function removeSecondFactor(store: Store, name: string): Promise<boolean> {
  await store.prisma.securityKey.deleteMany({ where: { operator: { name } } });
  return removeAuthenticator(store, name);
}

/** The time step of a code; null if it is none of this secret. `validate` compares in constant time. */
function stepOf(code: string, secret: Uint8Array): number | null {
  const { buffer } = new Uint8Array(secret);
  const totp = new TOTP({ secret: new Secret({ buffer }), period: STEP_SECONDS });
  const now = Date.now();
  const delta = totp.validate({
    token: code.replaceAll(/\s/g, ''),
    timestamp: now,
    window: STEPS_AROUND,
  });
  return delta === null ? null : Math.floor(now / 1_000 / STEP_SECONDS) + delta;
}

/** 256 random bits, for URLs and headers. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** How a secret of random bits is stored: there is nothing to guess, so nothing to slow down. */
export function secretHash(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(secret).digest());
}

/** Crockford's base 32: no I, L, O, U. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Groups of four of 20 random bits each, to be read off a terminal and typed: `7K3D-…`. */
export function typedSecret(groups: number): string {
  return Array.from({ length: groups }, () =>
    [...randomBytes(4)].map((byte) => ALPHABET[byte % 32]).join(''),
  ).join('-');
}

/** A typed secret as it was given out, whatever case, blanks and look-alikes it was typed with. */
export function readTypedSecret(text: string): string {
  const letters = text
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, '')
    .replace(/O/g, '0')
    .replace(/[IL]/g, '1');
  return letters.match(/.{1,4}/g)?.join('-') ?? '';
}

/** A security key or passkey as its owner sees it. */
export interface SecurityKey {
  id: string;
  /** What its owner calls it. */
  name: string;
  createdAt: Date;
  lastUsedAt: Date | null;
}

export type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
};

const MOST_KEYS = 10;
const CHALLENGE_SECONDS = 300;

const listed = { id: true, name: true, createdAt: true, lastUsedAt: true } as const;

export function listSecurityKeys(store: Store, operatorId: string): Promise<SecurityKey[]> {
  return store.prisma.securityKey.findMany({
    where: { operatorId },
    select: listed,
    orderBy: { createdAt: 'asc' },
  });
}

/**
 * What a browser hands to `navigator.credentials.create` to add a key for the console at `origin`.
 * Null if the operator has ten.
 */
export async function beginSecurityKey(
  store: Store,
  { operatorId, name, origin }: { operatorId: string; name: string; origin: string },
): Promise<PublicKeyCredentialCreationOptionsJSON | null> {
  const { generateRegistrationOptions } = await import('@simplewebauthn/server');
  const keys = await store.prisma.securityKey.findMany({ where: { operatorId } });
  if (keys.length >= MOST_KEYS) return null;
  return generateRegistrationOptions({
    rpName: 'Leadgate',
    rpID: new URL(origin).hostname,
    userName: name,
    userID: new Uint8Array(Buffer.from(operatorId.replaceAll('-', ''), 'hex')),
    challenge: await newChallenge(store, operatorId, 'add'),
    excludeCredentials: keys.map(({ credentialId, transports }) => ({
      id: credentialId,
      transports,
    })),
    // A password was typed already: whoever holds the key is enough.
    authenticatorSelection: { residentKey: 'discouraged', userVerification: 'discouraged' },
  });
}

type KeyAddition =
  | { kind: 'added'; key: SecurityKey }
  /** No answer of a key to a challenge of this operator, at this address, of these five minutes. */
  | { kind: 'refused' }
  | { kind: 'invalid'; errors: FieldError[] };

/** Adds the key that answered: from now on a second factor is asked for at sign-in. */
export async function confirmSecurityKey(
  store: Store,
  asked: { operatorId: string; name: string; origin: string; answer: RegistrationResponseJSON },
): Promise<KeyAddition> {
  const { operatorId, origin, answer } = asked;
  const name = displayText(asked.name);
  const errors = nameErrors(name);
  if (errors.length > 0) return { kind: 'invalid', errors };
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  const rpId = new URL(origin).hostname;
  const verified = await verifyRegistrationResponse({
    response: answer,
    expectedChallenge: (challenge) => takeChallenge(store, challenge, 'add', operatorId),
    expectedOrigin: origin,
    expectedRPID: rpId,
    requireUserVerification: false,
    // It throws at whatever is not as it should be.
  }).catch(() => null);
  if (verified?.registrationInfo === undefined) return { kind: 'refused' };
  const { id, publicKey, counter, transports = [] } = verified.registrationInfo.credential;
  try {
    const key = await store.prisma.securityKey.create({
      data: {
        ...{ operatorId, name, rpId, credentialId: id, counter: BigInt(counter), transports },
        publicKey: new Uint8Array(publicKey),
      },
      select: listed,
    });
    return { kind: 'added', key };
  } catch (error) {
    if (isUniqueViolation(error)) return { kind: 'refused' };
    throw error;
  }
}

/** Takes a key away from an operator. False if there is no such key of theirs. */
export async function removeSecurityKey(
  store: Store,
  operatorId: string,
  id: string,
): Promise<boolean> {
  const { count } = await store.prisma.securityKey.deleteMany({ where: { id, operatorId } });
  return count > 0;
}

/**
 * What a browser hands to `navigator.credentials.get` after the right name and password: the keys of
 * the operator for the console at `origin`. Null if there is none.
 */
export async function askSecurityKey(
  store: Store,
  operatorId: string,
  origin: string,
): Promise<PublicKeyCredentialRequestOptionsJSON | null> {
  const rpID = new URL(origin).hostname;
  const keys = await store.prisma.securityKey.findMany({ where: { operatorId, rpId: rpID } });
  if (keys.length === 0) return null;
  const { generateAuthenticationOptions } = await import('@simplewebauthn/server');
  return generateAuthenticationOptions({
    rpID,
    challenge: await newChallenge(store, operatorId, 'sign-in'),
    allowCredentials: keys.map(({ credentialId, transports }) => ({
      id: credentialId,
      transports,
    })),
    userVerification: 'discouraged',
  });
}

/**
 * Whose key answered a challenge of `askSecurityKey`, at this address; null if none did. A challenge
 * is taken once, whatever the answer is.
 */
export async function takeSecurityKey(
  store: Store,
  answer: AuthenticationResponseJSON,
  origin: string,
): Promise<string | null> {
  const key = await store.prisma.securityKey.findUnique({ where: { credentialId: answer.id } });
  if (key === null) return null;
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  const { id, operatorId, credentialId, rpId, publicKey, counter, transports } = key;
  const verified = await verifyAuthenticationResponse({
    response: answer,
    expectedChallenge: (challenge) => takeChallenge(store, challenge, 'sign-in', operatorId),
    expectedOrigin: origin,
    expectedRPID: rpId,
    credential: { id: credentialId, publicKey, counter: Number(counter), transports },
    requireUserVerification: false,
    // It throws at whatever is not as it should be: a counter that went back, too.
  }).catch(() => null);
  if (verified?.verified !== true) return null;
  const { newCounter } = verified.authenticationInfo;
  await store.prisma.securityKey.updateMany({
    where: { id },
    data: { counter: BigInt(newCounter), lastUsedAt: new Date() },
  });
  return operatorId;
}

type Purpose = 'add' | 'sign-in';

/** 256 random bits; those of this operator that are too old go. */
async function newChallenge(
  store: Store,
  operatorId: string,
  purpose: Purpose,
): Promise<Uint8Array<ArrayBuffer>> {
  const challenge = new Uint8Array(randomBytes(32));
  await store.prisma.$executeRaw`
    DELETE FROM key_challenge WHERE operator_id = ${operatorId}::uuid AND expires_at <= now()`;
  await store.prisma.$executeRaw`
    INSERT INTO key_challenge (challenge_hash, operator_id, purpose, expires_at)
    VALUES (${secretHash(Buffer.from(challenge).toString('base64url'))}, ${operatorId}::uuid, ${purpose},
      now() + make_interval(secs => ${CHALLENGE_SECONDS}::float8))`;
  return challenge;
}

/** Takes a challenge away, as it is in the answer: base64url. False if there is none of this operator. */
async function takeChallenge(
  store: Store,
  challenge: string,
  purpose: Purpose,
  operatorId: string,
): Promise<boolean> {
  const count = await store.prisma.$executeRaw`
    DELETE FROM key_challenge WHERE challenge_hash = ${secretHash(challenge)}
      AND purpose = ${purpose} AND operator_id = ${operatorId}::uuid AND expires_at > now()`;
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
const TOKEN_PREFIX = 'lg_';

const tokenColumns = {
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
  const secret = `${TOKEN_PREFIX}${randomSecret()}`;
  try {
    const expiresAt = new Date((await databaseTime(store)).getTime() + days * DAY_MS);
    const row = await store.prisma.apiToken.create({
      data: {
        ...{ id: randomUUID(), name, role, workspaceId, expiresAt, tokenHash: secretHash(secret) },
        ...{ createdBy: createdBy.name, createdById: createdBy.operatorId },
      },
      select: tokenColumns,
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
    select: tokenColumns,
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
  if (!secret.startsWith(TOKEN_PREFIX)) return null;
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
    select: tokenColumns,
  });
  return row === null ? null : readToken(row);
}

function readToken(row: Omit<ApiToken, 'role'> & { role: string }): ApiToken {
  return { ...row, role: readRole(row.role) };
}
