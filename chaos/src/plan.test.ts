import { expect, test } from 'vitest';
import { FAULT_KINDS } from './faults.ts';
import { planFaults } from './plan.ts';
import { createRandom } from './random.ts';

const plan = (seed: number, lengthMs = 600_000) =>
  planFaults(createRandom(seed), { lengthMs, everyMs: 3_000 });

test('the same seed is the same plan, another is another', () => {
  expect(plan(7)).toEqual(plan(7));
  expect(plan(8)).not.toEqual(plan(7));
});

test('a longer run begins as a shorter one of the same seed', () => {
  const short = plan(7, 60_000);
  expect(plan(7).slice(0, short.length)).toEqual(short);
});

test('every kind of fault comes before any comes again', () => {
  const first = plan(7)
    .slice(0, FAULT_KINDS.length)
    .map(({ kind }) => kind);
  expect(first.toSorted()).toEqual([...FAULT_KINDS].sort());
});
