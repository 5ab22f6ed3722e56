import { CAPTCHA_URLS, type LinkGuard } from '@leadgate/contract';

type Captcha = NonNullable<LinkGuard['captcha']>;

/**
 * Asks a CAPTCHA's service about a token. `unreachable`: it did not say, in time and in a way that is
 * understood. Never rejects.
 */
export type VerifyCaptcha = (
  captcha: Pick<Captcha, 'verifyUrl' | 'secret'>,
  token: string,
) => Promise<'passed' | 'failed' | 'unreachable'>;

/** A visitor waits for it. */
const ANSWER_WITHIN_MS = 2_000;
const LARGEST_ANSWER = 16 * 1024;

/**
 * Turnstile, hCaptcha and reCAPTCHA take the same form and answer `{"success": true}`. The visitor's
 * address, which they may be told, stays here. Redirects are not followed: the address is an
 * operator's, and what it points to is not.
 */
export const createVerifyCaptcha =
  (furtherUrls: readonly string[]): VerifyCaptcha =>
  async ({ verifyUrl, secret }, token) => {
    // What an operator typed reaches no other place: not this network either.
    if (![...CAPTCHA_URLS, ...furtherUrls].includes(verifyUrl)) return 'unreachable';
    try {
      const response = await fetch(verifyUrl, {
        method: 'POST',
        body: new URLSearchParams({ secret, response: token }),
        headers: { accept: 'application/json' },
        redirect: 'error',
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      });
      const said: unknown = JSON.parse(await readStart(response));
      if (typeof said !== 'object' || said === null || !('success' in said)) return 'unreachable';
      if (said.success === true) return 'passed';
      return said.success === false && !isOurFault(said) ? 'failed' : 'unreachable';
    } catch {
      // Neither the secret nor the token may reach a log.
      return 'unreachable';
    }
  };

/**
 * What the three services say if the fault is the operator's or their own. Everything else is about the
 * token, `sitekey-secret-mismatch` too: somebody solved a CAPTCHA of another site.
 */
const OUR_FAULTS = new Set<unknown>([
  ...['missing-input-secret', 'invalid-input-secret', 'internal-error'],
]);

function isOurFault(said: object): boolean {
  const codes: unknown = Reflect.get(said, 'error-codes');
  return Array.isArray(codes) && codes.some((code) => OUR_FAULTS.has(code));
}

async function readStart(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const body: AsyncIterable<Uint8Array> | null = response.body;
  if (body === null) return '';
  for await (const chunk of body) {
    length += chunk.byteLength;
    if (length > LARGEST_ANSWER) throw new Error('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
