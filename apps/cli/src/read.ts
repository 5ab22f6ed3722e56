import { isUuid } from '@leadgate/store';
import { ROLES } from '@leadgate/contract';
import { InvalidArgumentError, Option } from 'commander';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { EXIT, Failure } from './io.ts';
import { showable } from './print/showable.ts';

const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Ten years: longer is a slip of the finger. */
const LONGEST = 10 * 366 * 86_400;

/** Seconds of a duration such as `90s`, `30m`, `12h`, `7d`, `2w` or `0`; null if it is none. */
export function readDuration(text: string): number | null {
  if (text.trim() === '0') return 0;
  const match = /^(\d{1,9})([smhdw])$/.exec(text.trim());
  const seconds = Number(match?.[1]) * (SECONDS[match?.[2] ?? ''] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds <= LONGEST ? seconds : null;
}

/** Reads an option's duration in seconds, for commander. */
export function duration(text: string): number {
  const found = readDuration(text);
  if (found !== null) return found;
  throw new InvalidArgumentError('Write it as 0, 90s, 30m, 12h, 7d or 2w.');
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/**
 * A moment: an ISO 8601 time with its zone, a date (its start in UTC), or a duration from now
 * (`30d`). Null if the text is none of them, or no date of the calendar.
 */
export function readMoment(text: string, now: Date): Date | null {
  const trimmed = text.trim();
  const seconds = readDuration(trimmed);
  if (seconds !== null) return new Date(now.getTime() + seconds * 1000);
  if (!DATE.test(trimmed) && !DATE_TIME.test(trimmed)) return null;
  const day = trimmed.slice(0, 10);
  const isDay = isValid(new Date(day)) && new Date(day).toISOString().startsWith(day);
  const moment = new Date(trimmed);
  return isDay && isValid(moment) ? moment : null;
}

function isValid(date: Date): boolean {
  return !Number.isNaN(date.getTime());
}

/** Reads an option's moment in the past, for commander: a time, a date, or how long ago (`2h`). */
export function past(text: string): Date {
  const now = new Date();
  const seconds = readDuration(text);
  const moment =
    seconds === null ? readMoment(text, now) : new Date(now.getTime() - seconds * 1_000);
  if (moment !== null) return moment;
  throw new InvalidArgumentError(
    'It is a time with its zone (2026-11-27T18:00:00-03:00), a date (UTC), or how long ago (90s, 30m, 12h, 7d).',
  );
}

/** Reads an option's rate, for commander, as so many a second: `50/s`, `600/m`, or a plain `50`. */
export function rate(text: string): number {
  const match = /^(\d{1,9})(?:\/(s|m|h))?$/.exec(text.trim());
  const perSecond = Number(match?.[1]) / (SECONDS[match?.[2] ?? 's'] ?? Number.NaN);
  if (perSecond > 0) return perSecond;
  throw new InvalidArgumentError('It is how many a second, a minute or an hour: 50/s, 600/m.');
}

/** Reads an option's whole number of at least 1, for commander. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text.trim()) || value < 1 || value > 2_147_483_647)
    throw new InvalidArgumentError('It is a whole number, at least 1.');
  return value;
}

/** What somebody, or a program, may do: `--role`, which has to be said. */
export const roleOption = (choices: readonly string[] = ROLES): Option =>
  new Option(
    '--role <role>',
    'viewer: sees, personal data masked; operator: sees and acts; administrator: chooses who may',
  )
    .choices(choices)
    .makeOptionMandatory();

/** An id as typed; `what` it is of, for the Failure if it is none. */
export function readId(text: string, what: string): string {
  const id = text.trim().toLowerCase();
  if (isUuid(id)) return id;
  throw new Failure(`"${showable(text)}" is not the id of a ${what} (a UUID).`, EXIT.usage);
}

/** The name nearest to what was typed, when it is near enough to be meant; null otherwise. */
export function nearName(typed: string, names: readonly string[]): string | null {
  const folded = fold(typed);
  const nearest = names
    .map((name) => ({ name, distance: distance(folded, fold(name)) }))
    .sort((a, b) => a.distance - b.distance)[0];
  if (nearest === undefined) return null;
  const isNear = nearest.distance <= Math.max(1, Math.floor(folded.length / 3));
  return isNear ? nearest.name : (names.find((name) => fold(name).startsWith(folded)) ?? null);
}

/** Case and accents aside. */
function fold(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().trim();
}

/** The edits (insert, delete, replace one character) from one text to the other (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/**
 * A secret from a file, or from the standard input (`-`), without the line break at its end. Never
 * from an option: a command line is seen by all of the machine, and kept by the shell.
 */
export async function readSecret(file: string, cwd: string): Promise<string> {
  const read = file === '-' ? text(process.stdin) : readFile(resolve(cwd, file), 'utf8');
  return (await read).trim();
}

/** Rules of a mapping, each written as FIELD=QUERY; a field may have several. */
export function rulesOf(texts: readonly string[]): Record<string, string[]> {
  const rules: Record<string, string[]> = {};
  for (const one of texts) {
    const at = one.indexOf('=');
    const field = one.slice(0, at).trim();
    if (at < 1)
      throw new Failure('Write a rule as FIELD=QUERY, such as email=$.contact.mail.', EXIT.usage);
    rules[field] = [...(rules[field] ?? []), one.slice(at + 1).trim()];
  }
  return rules;
}
