import { expect, test } from 'vitest';
import { digest } from './digest.ts';

test('forms that differ in little have keys that differ', () => {
  const digests = new Set<number>();
  for (let i = 0; i < 20_000; i++) digests.add(digest(`{"name":"Ana ${i}"}`));
  expect(digests.size).toBe(20_000);
});
