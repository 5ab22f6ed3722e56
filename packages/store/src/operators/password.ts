import type { FieldError } from '@leadgate/contract';
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

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

/** Its dictionary is large, and loaded only if a password is chosen. */
async function guessability(password: string, name: string): Promise<number> {
  const [{ ZxcvbnFactory }, { adjacencyGraphs, dictionary }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ]);
  const zxcvbn = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
  return zxcvbn.check(password, [name, ...name.split(/\s+/), 'leadgate']).score;
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
  const text = password.normalize('NFC');
  return new Promise((resolve, reject) => {
    scrypt(text, salt, KEY_BYTES, { N, r, p, maxmem: 256 * N * r }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}
