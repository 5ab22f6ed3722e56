import type { FieldError } from '@leadgate/contract';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { randomBytes } from 'node:crypto';
import { secretHash } from './credentials.ts';
import { isUniqueViolation } from './failure-of.ts';
import type { Store } from './open-store.ts';
import { displayText, nameErrors } from './text.ts';

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

/** The keys of an operator, the oldest first. */
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
