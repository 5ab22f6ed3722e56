import { allOperations } from '@leadgate/operations';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** Operations without a command, and why. */
const API_ONLY: Readonly<Record<string, string>> = {
  me: 'a prompt has no session and no second factor: its user is that of the system',
};

const folder = new URL('commands/', import.meta.url);
const sources = readdirSync(folder)
  .filter((name) => name.endsWith('.ts') && !name.includes('.test.'))
  .map((name) => readFileSync(new URL(name, folder), 'utf8'));

test('every operation is run by a command, or has a reason why not', async () => {
  const operations = await allOperations();
  expect(operations.length).toBeGreaterThan(40);
  for (const { name } of operations) {
    const [noun = '', verb = ''] = name.split('.');
    if (noun in API_ONLY) continue;
    const key = verb.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    const loads = sources.filter((text) => text.includes(`loadNoun('${noun}')`));
    expect([name, loads.some((text) => new RegExp(`\\b${key}\\b`).test(text))]).toEqual([
      name,
      true,
    ]);
  }
});

test('no two operations share a name or an address', async () => {
  const operations = await allOperations();
  for (const of of [
    operations.map(({ name }) => name),
    operations.map(({ id }) => id),
    operations.map(({ method, path }) => `${method} ${path}`),
  ])
    expect(of).toHaveLength(new Set(of).size);
});
