import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { Type } from 'typebox';

/** `SECRETS_KEY`: what secrets are encrypted under, wherever they are stored. */
export const secretsKeySetting = () =>
  Type.String({
    description:
      'the key that secrets are encrypted under in Postgres and Redis (of endpoints, CAPTCHAs, senders and authenticators), the same for every process',
    examples: ['the output of: openssl rand -base64 32'],
    secret: true,
    minLength: 32,
  });

/** `SECRETS_KEY_BEFORE`: a second key, while one takes the place of the other. */
export const secretsKeyBeforeSetting = () =>
  Type.Optional(
    Type.String({
      description:
        'the SECRETS_KEY before this one: what was encrypted under it can be read, until leadgate key rotate has encrypted it anew',
      secret: true,
      minLength: 32,
    }),
  );

const ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SEALED_TEXT = 'sealed:';

interface Key {
  /** Tells one key from another, and nothing of either. */
  id: Buffer;
  key: Uint8Array;
}

const derive = (secret: string, what: string, bytes: number): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', what, bytes));

/**
 * The keys that secrets are encrypted under: AES-256-GCM, as the key's id, nonce, tag and text. The first key
 * encrypts; what another one has encrypted can be read.
 */
export class Keyring {
  readonly #keys: readonly [Key, ...Key[]];
  /** What encrypted before keys had an id: DELIVERY_KEY, and for authenticators CONSOLE_SECRET. */
  readonly #withoutId: readonly Uint8Array[];

  constructor(
    now: string,
    {
      before,
      consoleSecret,
    }: { before?: string | undefined; consoleSecret?: string | undefined } = {},
  ) {
    const keyOf = (secret: string): Key => ({
      id: derive(secret, 'leadgate secrets key id', ID_BYTES),
      key: derive(secret, 'leadgate secrets', 32),
    });
    const all = before === undefined ? [now] : [now, before];
    this.#keys = [keyOf(now), ...all.slice(1).map(keyOf)];
    this.#withoutId = [
      ...all.map((secret) => derive(secret, 'leadgate endpoint', 32)),
      ...(consoleSecret === undefined ? [] : [derive(consoleSecret, 'leadgate second factor', 32)]),
    ];
  }

  /** The id of the key that encrypts. */
  get id(): string {
    return this.#keys[0].id.toString('hex');
  }

  seal(secret: string | Uint8Array): Uint8Array<ArrayBuffer> {
    const [{ id, key }] = this.#keys;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(id);
    const text = Buffer.concat([cipher.update(secret), cipher.final()]);
    return new Uint8Array(Buffer.concat([id, nonce, cipher.getAuthTag(), text]));
  }

  /** Throws if none of the keys has encrypted it. */
  open(sealed: Uint8Array): Buffer<ArrayBuffer> {
    const id = sealed.subarray(0, ID_BYTES);
    const own = this.#keys.find((one) => one.id.equals(id));
    const opened = own && decrypt(sealed.subarray(ID_BYTES), own.key, id);
    if (opened) return opened;
    for (const key of this.#withoutId) {
      const text = decrypt(sealed, key);
      if (text !== null) return text;
    }
    throw new Error('a secret was encrypted under a key that is not known here');
  }

  /** Whether the first key has encrypted it. Throws as `open`. */
  isNew(sealed: Uint8Array): boolean {
    this.open(sealed);
    return this.#keys[0].id.equals(sealed.subarray(0, ID_BYTES));
  }

  /** The same as text, for what is stored as text. */
  sealText(secret: string): string {
    return SEALED_TEXT + Buffer.from(this.seal(secret)).toString('base64url');
  }

  /** A secret that was stored as text: also one of before they were encrypted. Throws as `open`. */
  openText(stored: string): string {
    const sealed = sealedIn(stored);
    return sealed === null ? stored : this.open(sealed).toString();
  }
}

/** What was encrypted, of a secret that is stored as text; null if it is from before, and plain. */
export function sealedIn(stored: string): Uint8Array | null {
  return stored.startsWith(SEALED_TEXT)
    ? Buffer.from(stored.slice(SEALED_TEXT.length), 'base64url')
    : null;
}

/** Null if it is not what this key has encrypted. */
function decrypt(sealed: Uint8Array, key: Uint8Array, id?: Uint8Array): Buffer<ArrayBuffer> | null {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES));
  if (id !== undefined) decipher.setAAD(id);
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  try {
    const text = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
    return Buffer.concat([text, decipher.final()]);
  } catch {
    return null;
  }
}
