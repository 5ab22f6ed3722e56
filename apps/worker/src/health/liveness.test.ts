import { expect, test } from 'vitest';
import { createLiveness, type LivenessFacts } from './checks.ts';

const MINUTE = 60_000;
const facts = (change: Partial<LivenessFacts> & { lastProgressAt?: number; active?: number }) => ({
  now: 0,
  waiting: 10,
  holding: false,
  ...change,
  progress: {
    processed: 5,
    lastProgressAt: change.lastProgressAt ?? 0,
    active: change.active ?? 0,
    refusal: null,
  },
});

test('a worker that gets nothing done while jobs wait is stuck', () => {
  const liveness = createLiveness({ stuckAfterMs: MINUTE });
  expect(liveness(facts({ now: MINUTE })).kind).toBe('alive');
  expect(liveness(facts({ now: MINUTE + 1 }))).toEqual({ kind: 'stuck', forMs: MINUTE + 1 });
});

test('a worker whose own jobs never end is stuck, though none wait', () => {
  const liveness = createLiveness({ stuckAfterMs: MINUTE });
  expect(liveness(facts({ now: 2 * MINUTE, waiting: 0, active: 3 })).kind).toBe('stuck');
});

test('a worker with nothing to do is alive, and not stuck the moment a job comes', () => {
  const liveness = createLiveness({ stuckAfterMs: MINUTE });
  expect(liveness(facts({ now: 60 * MINUTE, waiting: 0 })).kind).toBe('alive');
  expect(liveness(facts({ now: 60 * MINUTE + 1, waiting: 1 })).kind).toBe('alive');
  expect(liveness(facts({ now: 62 * MINUTE, waiting: 1 })).kind).toBe('stuck');
});

test.each([
  ['Postgres', { holding: true }],
  ['Redis', { waiting: null }],
])('an hour without %s is no reason to start the process again, nor right after', (_, away) => {
  const liveness = createLiveness({ stuckAfterMs: MINUTE });
  expect(liveness(facts({ now: 60 * MINUTE, active: 200, ...away })).kind).toBe('alive');
  expect(liveness(facts({ now: 60 * MINUTE + 500, active: 200 })).kind).toBe('alive');
});
