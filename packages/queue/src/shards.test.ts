import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { shardOf } from './shards.ts';

test('a lead’s shard is the same wherever and whenever it is worked out', () => {
  expect(shardOf('0199a5c3-7b1e-4c11-9f0a-0d6c4b1f7a52', 1)).toBe(0);
  expect(shardOf('0199a5c3-7b1e-4c11-9f0a-0d6c4b1f7a52', 3)).toBe(0x4b1f7a52 % 3);
  expect(shardOf('0199a5c3-7b1e-4c11-9f0a-0d6cffffffff', 7)).toBe(0xffffffff % 7);
});

test('random leads are spread evenly', () => {
  const counts = [0, 0, 0, 0, 0, 0];
  for (let n = 0; n < 60_000; n++) {
    const shard = shardOf(randomUUID(), counts.length);
    counts[shard] = (counts[shard] ?? 0) + 1;
  }
  for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(600);
});
