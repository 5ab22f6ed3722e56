import { InvalidArgumentError } from 'commander';

const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3_600 };

/** Reads an option's rate, for commander, as so many a second: `50/s`, `600/m`, or a plain `50`. */
export function rate(text: string): number {
  const match = /^(\d{1,9})(?:\/(s|m|h))?$/.exec(text.trim());
  const perSecond = Number(match?.[1]) / (SECONDS[match?.[2] ?? 's'] ?? Number.NaN);
  if (perSecond > 0) return perSecond;
  throw new InvalidArgumentError('It is how many a second, a minute or an hour: 50/s, 600/m.');
}
