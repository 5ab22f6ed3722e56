import { expect, test } from 'vitest';
import { simulate } from './simulate.js';

test('a queue that is worked off faster than it fills stays empty', () => {
  const prediction = simulate([{ seconds: 60, arrivals: 900, workedOff: 1_000 }]);
  expect(prediction.longest).toBeLessThan(1);
  expect(prediction.emptyAfterSeconds).toBe(0);
});

test('a burst leaves what its workers could not do, and the last of it waits for all before it', () => {
  // 1,000 a second too many for 60 seconds; the last of them waits for 60,000 at 2,000 a second.
  const { longest, oldestSeconds, emptyAfterSeconds } = simulate([
    { seconds: 60, arrivals: 3_000, workedOff: 2_000 },
    { seconds: 10, arrivals: 0, workedOff: 2_000 },
  ]);
  expect(longest).toBeCloseTo(60_000, -2);
  // Served at the end of the burst: those who came 20 seconds before.
  expect(oldestSeconds).toBeGreaterThan(19);
  expect(oldestSeconds).toBeLessThan(31);
  expect(emptyAfterSeconds).toBeCloseTo(20, 0);
});

test('without workers the queue holds everything, for as long as they are away', () => {
  const { longest, oldestSeconds, emptyAfterSeconds } = simulate([
    { seconds: 100, arrivals: 10, workedOff: 0 },
  ]);
  expect(longest).toBeCloseTo(1_000, 0);
  expect(oldestSeconds).toBeCloseTo(100, 0);
  expect(emptyAfterSeconds).toBe(Infinity);
});

test('twice the rate and twice the workers is twice the queue, and the same wait', () => {
  const burst = (/** @type {number} */ by) =>
    simulate([
      { seconds: 30, arrivals: 3_000 * by, workedOff: 1_000 * by },
      { seconds: 100, arrivals: 100 * by, workedOff: 1_000 * by },
    ]);
  expect(burst(2).longest).toBeCloseTo(2 * burst(1).longest, 0);
  expect(burst(2).oldestSeconds).toBeCloseTo(burst(1).oldestSeconds, 1);
});
