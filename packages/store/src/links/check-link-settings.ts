import type { FieldError, LinkSettings } from '@leadgate/contract';
import { displayText, displayTextFault } from '../display-text.ts';

// Postgres' integer.
const MAX_LIMIT = 2_147_483_647;

export type CheckedLinkSettings =
  { kind: 'valid'; settings: LinkSettings } | { kind: 'invalid'; errors: FieldError[] };

/**
 * The settings of a link as they are stored: origins as browsers send them (lower case, no default
 * port), each once. Or every setting that is wrong. Pure.
 */
export function checkLinkSettings(input: LinkSettings): CheckedLinkSettings {
  const label = displayText(input.label);
  const errors: FieldError[] = [];
  const refuse = (pointer: string, detail: string) => {
    errors.push({ pointer, code: 'invalid', detail });
  };
  const labelFault = label === '' ? null : displayTextFault(label);
  if (labelFault !== null) refuse('/label', `The label ${labelFault}.`);
  const origins = input.origins.map((text, at) => {
    const origin = readOrigin(text);
    if (origin === null)
      refuse(
        `/origins/${at}`,
        `Origin ${at + 1} is not scheme://host[:port] and nothing after it, such as ${exampleFor(text)}.`,
      );
    return origin ?? '';
  });
  const redirectUrl = input.redirectUrl === null ? null : readRedirectUrl(input.redirectUrl);
  if (input.redirectUrl !== null && redirectUrl === null)
    refuse(
      '/redirectUrl',
      'The redirect URL is not an absolute http or https address, such as https://example.com/thanks.',
    );
  for (const field of ['linkLimit', 'addressLimit'] as const)
    if (!isLimit(input[field]))
      refuse(
        `/${field}`,
        `The ${field === 'linkLimit' ? 'link' : 'address'} limit is not a whole number of requests a minute, at least 1.`,
      );
  if (errors.length > 0) return { kind: 'invalid', errors };
  return {
    kind: 'valid',
    settings: { ...input, label, origins: [...new Set(origins)], redirectUrl },
  };
}

/** An origin as a browser sends it (RFC 6454), or null. */
function readOrigin(text: string): string | null {
  const trimmed = text.trim();
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s*]+$/i.test(trimmed) || !URL.canParse(trimmed)) return null;
  const url = new URL(trimmed);
  // For schemes it does not know (an app's own), URL has no origin but leaves the host as written.
  return url.origin === 'null' ? `${url.protocol}//${url.host.toLowerCase()}` : url.origin;
}

/** The origin that was probably meant. */
function exampleFor(text: string): string {
  const address = text.includes('://') ? text : `https://${text}`;
  const url = URL.canParse(address) ? new URL(address) : null;
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && /^[\w.-]+$/.test(url.hostname);
  return isPlain ? url.origin : 'https://example.com';
}

function readRedirectUrl(text: string): string | null {
  const trimmed = text.trim();
  if (!URL.canParse(trimmed)) return null;
  const url = new URL(trimmed);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : null;
}

function isLimit(value: number | null): boolean {
  return value === null || (Number.isInteger(value) && value >= 1 && value <= MAX_LIMIT);
}
