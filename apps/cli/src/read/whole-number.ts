import { InvalidArgumentError } from 'commander';

/** Reads an option's whole number of at least 1, for commander. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text.trim()) || value < 1 || value > 2_147_483_647)
    throw new InvalidArgumentError('It is a whole number, at least 1.');
  return value;
}
