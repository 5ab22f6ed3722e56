import { expect, test } from 'vitest';
import { emptyIn, flowOf } from './queue-flow.ts';

test('what waited is worked back from what waits, came and was finished', () => {
  const now = Date.parse('2026-11-28T12:00:30Z');
  const rows = [
    { at: '2026-11-28T11:59:00.000Z', accepted: 100, finished: 40 },
    { at: '2026-11-28T12:00:00.000Z', accepted: 0, finished: 50 },
  ];
  const flow = flowOf(rows, 10, now);
  expect(flow).toHaveLength(60);
  expect(flow.slice(-3).map(({ waiting }) => waiting)).toEqual([0, 60, 10]);
});

test('a queue is empty when what waits has gone at the pace of the last minute, if it shrinks', () => {
  expect(emptyIn([{ at: 0, waiting: 100 }])).toEqual({ kind: 'unknown' });
  const half = { at: 10_000, waiting: 50 };
  expect(emptyIn([{ at: 0, waiting: 100 }, half])).toEqual({ kind: 'in', ms: 10_000 });
  expect(emptyIn([{ at: 0, waiting: 50 }, half])).toEqual({ kind: 'never' });
});
