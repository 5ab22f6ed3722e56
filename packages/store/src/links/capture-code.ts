import { randomBytes } from 'node:crypto';

/**
 * A new code: 22 URL-safe characters, 132 random bits less the few that choose the ends. It never
 * begins with `-`, which a command line takes for an option, nor ends with `-` or `_`, which chat
 * programs leave out of a link.
 */
export function captureCode(): string {
  for (;;) {
    const code = randomBytes(17).toString('base64url').slice(0, 22);
    if (/^[^-].*[^-_]$/.test(code)) return code;
  }
}
