import fc from 'fast-check';
import { expect, test } from 'vitest';
import { backoffMs, DISABLED_AFTER_MS, pauseMs, RateWindow, readRetryAfter } from './pacing.ts';

const DAY_MS = 86_400_000;
const chance = fc.double({ min: 0, max: 1, noNaN: true });

test('waits rise to a day and never past it, and differ by chance', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), chance, (failures, random) => {
      const ms = backoffMs(failures, random);
      expect(ms).toBeGreaterThanOrEqual(2_500);
      expect(ms).toBeLessThanOrEqual(DAY_MS);
      expect(backoffMs(failures + 1, random)).toBeGreaterThanOrEqual(ms);
    }),
  );
  expect(backoffMs(1, 0)).not.toBe(backoffMs(1, 1));
  expect(backoffMs(40, 1)).toBe(DAY_MS);
});

test('a delivery is tried a dozen times and more within three days', () => {
  let waited = 0;
  let tries = 1;
  while ((waited += backoffMs(tries, 1)) < DISABLED_AFTER_MS) tries += 1;
  expect(tries).toBeGreaterThan(12);
});

test('a few failures do not hold an endpoint up; more do, and a quarter of an hour at most', () => {
  expect([1, 2, 3, 4].map((failures) => pauseMs(failures, 1))).toEqual([0, 0, 0, 0]);
  expect(pauseMs(5, 1)).toBe(5_000);
  fc.assert(
    fc.property(fc.integer({ min: 5, max: 10_000 }), chance, (failures, random) => {
      expect(pauseMs(failures, random)).toBeGreaterThanOrEqual(2_500);
      expect(pauseMs(failures, random)).toBeLessThanOrEqual(900_000);
    }),
  );
});

test.each([
  ['120', 120_000],
  ['0', 0],
  [' 5 ', 5_000],
  ['999999', DAY_MS],
  ['Sat, 28 Nov 2026 10:00:30 GMT', 30_000],
  ['Sat, 28 Nov 2026 09:00:00 GMT', 0],
  ['soon', null],
  ['-5', null],
  ['1e9', null],
  ['', null],
  [null, null],
])('Retry-After: %s', (header, ms) => {
  expect(readRetryAfter(header, Date.parse('2026-11-28T10:00:00Z'))).toBe(ms);
});

test('however long answers take, no second has more sends than the rate, whenever they arrive', () => {
  const send = fc.record({ takes: fc.integer({ min: 0, max: 3_000 }), arrives: chance });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.array(send, { minLength: 1, maxLength: 60 }),
      (rate, sends) => {
        const window = new RateWindow(rate);
        const arrivals: number[] = [];
        const ends: number[] = [];
        const waiting = [...sends];
        for (let now = 0; waiting.length > 0 || ends.length > 0;) {
          for (let places = window.places(now); places > 0; places -= 1) {
            const next = waiting.shift();
            if (next === undefined) break;
            window.start();
            arrivals.push(now + next.takes * next.arrives);
            ends.push(now + next.takes);
          }
          // To the next thing that happens: an answer, or a place that comes free.
          const nextEnd = ends.length === 0 ? Number.POSITIVE_INFINITY : Math.min(...ends);
          now = Math.min(nextEnd, waiting.length === 0 ? nextEnd : (window.nextAt(now) ?? nextEnd));
          for (const end of ends.filter((at) => at <= now)) {
            ends.splice(ends.indexOf(end), 1);
            window.answered(now);
          }
        }
        arrivals.sort((a, b) => a - b);
        expect(arrivals).toHaveLength(sends.length);
        for (const [n, arrival] of arrivals.entries()) {
          const later = arrivals[n + rate];
          if (later !== undefined) expect(later - arrival).toBeGreaterThanOrEqual(1_000);
        }
      },
    ),
  );
});

test('half a send a second is one in two seconds; no rate is no limit', () => {
  const half = new RateWindow(0.5);
  half.start();
  half.answered(100);
  expect(half.places(2_000)).toBe(0);
  expect(half.nextAt(2_000)).toBe(2_100);
  expect(half.places(2_100)).toBe(1);
  const open = new RateWindow(null);
  open.start();
  open.answered(0);
  expect(open.places(0)).toBe(Number.POSITIVE_INFINITY);
});
