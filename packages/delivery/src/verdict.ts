import { cutText } from '@leadgate/leads';
import { readRetryAfter } from './pacing.ts';

export type SendResult = (
  | { kind: 'answered'; status: number; retryAfter: string | null; answer: string }
  /** `refused`: the guard let it go nowhere. */
  | { kind: 'refused' | 'timeout' | 'no-connection' | 'broken-answer'; detail: string }
) & { durationMs: number };

/** What a result means. */
export type Verdict =
  | { kind: 'delivered' }
  /** The endpoint asks for nothing more, ever. */
  | { kind: 'gone' }
  /** The endpoint takes no sends for so long. */
  | { kind: 'later'; afterMs: number }
  | { kind: 'failed' };

/** Any 2xx is a success. 410 is the end; 429 and 503 say when, if they say so; the rest has failed. */
export function verdictOn(result: SendResult, now: number): Verdict {
  if (result.kind !== 'answered') return { kind: 'failed' };
  const { status, retryAfter } = result;
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  if (status === 410) return { kind: 'gone' };
  if (status !== 429 && status !== 503) return { kind: 'failed' };
  const afterMs = readRetryAfter(retryAfter, now);
  return afterMs === null ? { kind: 'failed' } : { kind: 'later', afterMs };
}

const KEPT_CHARACTERS = 300;
/** Shorter values stand in any text. */
const SHORTEST_VALUE = 3;

/**
 * The first characters of an answer as a log may keep them: endpoints repeat what they were sent. Values
 * of the lead, addresses of mail and numbers of six digits or more are taken out, and control characters.
 */
export function keptAnswer(answer: string, values: readonly string[]): string {
  const longestFirst = values
    .filter((value) => value.length >= SHORTEST_VALUE)
    .toSorted((a, b) => b.length - a.length);
  let text = answer.slice(0, 4 * KEPT_CHARACTERS);
  for (const value of longestFirst) text = withoutValue(text, value);
  const clean = text
    .replaceAll(/(?<![^\s@<>"',;:()[\]{}])[^\s@<>"',;:()[\]{}]+@[^\s@<>"',;:()[\]{}]+/g, '…')
    .replaceAll(/\d(?:[ ().-]*\d){5,}/g, '…')
    .replaceAll(/\p{C}+/gu, ' ');
  return cutText(clean, KEPT_CHARACTERS);
}

function withoutValue(text: string, value: string): string {
  const [lower, sought] = [text.toLowerCase(), value.toLowerCase()];
  // Some letters change their length with their case: places would no longer be the same.
  if (lower.length !== text.length || !lower.includes(sought)) return text.replaceAll(value, '…');
  let kept = '';
  let from = 0;
  for (let at = lower.indexOf(sought); at !== -1; at = lower.indexOf(sought, from)) {
    kept += `${text.slice(from, at)}…`;
    from = at + sought.length;
  }
  return kept + text.slice(from);
}
