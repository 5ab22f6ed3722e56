import { describe, expect, test } from 'vitest';
import { backpressureOf, type Load } from './backpressure.ts';

const limits = { maxQueueDepth: 1_000, maxMemoryPercent: 80 };
const node = { usedMemory: 0, maxmemory: 100, evictionPolicy: 'noeviction' };
const load = ({
  waiting = 0,
  ...more
}: { waiting?: number } & Partial<Load['nodes'][number]> = {}): Load => ({
  waiting,
  nodes: [{ ...node, ...more }],
});

describe('leads go to Redis', () => {
  test.each([
    ['while there is room', load({ waiting: 999, usedMemory: 79 })],
    ['without a limit of memory, whatever is used', load({ usedMemory: 500, maxmemory: 0 })],
    ['where it does not tell its policy', load({ evictionPolicy: null })],
  ])('%s', (_, given) => expect(backpressureOf(given, limits, false)).toBeNull());
});

test('a queue as deep as it may be is an overload, until it is well below', () => {
  expect(backpressureOf(load({ waiting: 1_000 }), limits, false)?.code).toBe('overloaded');
  expect(backpressureOf(load({ waiting: 999 }), limits, true)?.code).toBe('overloaded');
  expect(backpressureOf(load({ waiting: 949 }), limits, true)).toBeNull();
});

test('memory at the line is an overload, while the queue can still drain', () => {
  expect(backpressureOf(load({ usedMemory: 80 }), limits, false)?.reason).toContain('80 %');
  expect(backpressureOf(load({ usedMemory: 78 }), limits, true)?.code).toBe('overloaded');
  expect(backpressureOf(load({ usedMemory: 75 }), limits, true)).toBeNull();
});

test('a Redis that came to throw leads away is given none', () => {
  const backpressure = backpressureOf(load({ evictionPolicy: 'allkeys-lru' }), limits, false);
  expect(backpressure).toMatchObject({ code: 'unavailable' });
  expect(backpressure?.reason).toContain('allkeys-lru');
});

test('one full node of a Cluster is an overload, however empty the others are', () => {
  const nodes = [{ ...node }, { ...node, usedMemory: 81 }, { ...node, maxmemory: 0 }];
  expect(backpressureOf({ waiting: 0, nodes }, limits, false)?.reason).toContain('81 %');
});
