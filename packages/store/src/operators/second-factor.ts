import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { Store } from '../open-store.ts';

/** Of the six digits of RFC 6238: 30 seconds, and the code before and after for clocks that differ. */
const STEP_SECONDS = 30;
const STEPS_AROUND = 1;

/** What second factors are encrypted under in Postgres: derived from the console's secret. */
export function secondFactorKey(consoleSecret: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', consoleSecret, '', 'leadgate second factor', 32));
}

/**
 * Makes the secret of an authenticator for an operator, to be confirmed with its first code; one that
 * is in force stays until then. Returns the address that authenticators read as a QR code, which
 * holds the secret: it is shown this once.
 */
export async function beginSecondFactor(
  store: Store,
  name: string,
  key: Uint8Array,
): Promise<{ uri: string; secret: string }> {
  const secret = new Secret({ size: 20 });
  await store.prisma.operator.update({
    where: { name },
    data: { totpPending: seal(secret.bytes, key) },
  });
  const uri = new TOTP({ issuer: 'Leadgate', label: name, secret }).toString();
  return { uri, secret: secret.base32 };
}

/** Puts the authenticator in force if this is a code of it. */
export async function confirmSecondFactor(
  store: Store,
  name: string,
  code: string,
  key: Uint8Array,
): Promise<boolean> {
  const row = await store.prisma.operator.findUnique({ where: { name } });
  const pending = row?.totpPending ?? null;
  if (pending === null) return false;
  const step = stepOf(code, open(pending, key));
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
  key: Uint8Array,
): Promise<boolean> {
  const step = stepOf(code, open(totpSecret, key));
  if (step === null) return false;
  const { count } = await store.prisma.operator.updateMany({
    where: { id, totpStep: { lt: step } },
    data: { totpStep: step },
  });
  return count > 0;
}

/** Asks an operator for no code any more. False if there is none of this name. */
export async function removeSecondFactor(store: Store, name: string): Promise<boolean> {
  const { count } = await store.prisma.operator.updateMany({
    where: { name },
    data: { totpSecret: null, totpPending: null },
  });
  return count > 0;
}

/** The time step of a code; null if it is none of this secret. `validate` compares in constant time. */
function stepOf(code: string, secret: Uint8Array<ArrayBuffer>): number | null {
  const totp = new TOTP({ secret: new Secret({ buffer: secret.buffer }), period: STEP_SECONDS });
  const now = Date.now();
  const delta = totp.validate({
    token: code.replaceAll(/\s/g, ''),
    timestamp: now,
    window: STEPS_AROUND,
  });
  return delta === null ? null : Math.floor(now / 1_000 / STEP_SECONDS) + delta;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** AES-256-GCM: nonce, tag, text. */
function seal(text: Uint8Array, key: Uint8Array): Uint8Array<ArrayBuffer> {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const sealed = Buffer.concat([cipher.update(text), cipher.final()]);
  return new Uint8Array(Buffer.concat([nonce, cipher.getAuthTag(), sealed]));
}

/** Throws if it was sealed under another key. */
function open(sealed: Uint8Array, key: Uint8Array): Uint8Array<ArrayBuffer> {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const text = sealed.subarray(NONCE_BYTES + TAG_BYTES);
  return new Uint8Array(Buffer.concat([decipher.update(text), decipher.final()]));
}
