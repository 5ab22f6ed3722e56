import { allOperations } from '@leadgate/operations';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** Operations without a command, and why. */
const API_ONLY: Readonly<Record<string, string>> = {
  me: 'a prompt has no session and no second factor: its user is that of the system',
  'link.presets': 'the help of `link map` names them, and `--try` shows what each reads',
  'link.activity': 'lines of charts; `series` has the numbers',
  'queue.flow': 'lines of charts; `queue status` says what waits',
  'rejected.causes': 'groups of a page; `rejected list` has what was wrong with each',
  'rejected.search': 'a prompt filters what `rejected list` and `held list` print',
  'rejected.mend-all': '`rejected replay --all --lenient` takes all of a kind',
  'held.causes': 'groups of a page; `held list` says why each is held',
};

const folder = new URL('commands/', import.meta.url);
const sources = readdirSync(folder)
  .filter((name) => name.endsWith('.ts') && !name.includes('.test.'))
  .map((name) => readFileSync(new URL(name, folder), 'utf8'));

test('every operation is run by a command, or has a reason why not', async () => {
  const operations = await allOperations();
  expect(operations.length).toBeGreaterThan(40);
  const missing: string[] = [];
  for (const { name } of operations) {
    const [noun = '', verb = ''] = name.split('.');
    if (noun in API_ONLY || name in API_ONLY) continue;
    const key = verb.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    const runs = new RegExp(`['\`]${noun}\\.(${key}\\b|\\$\\{)`);
    if (!sources.some((text) => runs.test(text))) missing.push(name);
  }
  expect(missing).toEqual([]);
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
