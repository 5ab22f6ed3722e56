import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergePages } from './jobs.ts';

async function* pagesOf(items: number[], size: number): AsyncGenerator<number[]> {
  for (let i = 0; i < items.length; i += size)
    yield await Promise.resolve(items.slice(i, i + size));
}

test('sorted sequences come out as one that is sorted, with none left out', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: 0, max: 20 })), { maxLength: 4 }),
      fc.integer({ min: 1, max: 4 }),
      async (sources, size) => {
        const sorted = sources.map((items) => items.toSorted((a, b) => a - b));
        const merged: number[] = [];
        const walks = sorted.map((items) => pagesOf(items, size));
        for await (const page of mergePages(walks, (a, b) => a < b, size)) {
          expect(page.length).toBeLessThanOrEqual(size);
          merged.push(...page);
        }
        expect(merged).toEqual(sorted.flat().sort((a, b) => a - b));
      },
    ),
  );
});

test('what is left early leaves no source open', async () => {
  const closed: string[] = [];
  async function* endless(name: string) {
    try {
      for (;;) yield await Promise.resolve([1]);
    } finally {
      closed.push(name);
    }
  }
  for await (const page of mergePages([endless('a'), endless('b')], (a, b) => a < b, 1))
    if (page.length > 0) break;
  expect(closed).toEqual(['a', 'b']);
});
