import { expect, test, vi } from 'vitest';
import { createPartitionChore } from './partition-chore.ts';

const start = Date.UTC(2026, 10, 27);
const nothing = () => Promise.resolve({ partitions: [], rows: 0 });

test('without a retention nothing is ever let go', async () => {
  const dropBefore = vi.fn(nothing);
  const make = () => Promise.resolve(['submission_2026_12']);
  const chore = createPartitionChore({ make, dropBefore, days: undefined, clock: () => start });
  expect(await chore.run()).toEqual({
    made: ['submission_2026_12'],
    dropped: [],
    droppedRows: 0,
  });
  expect(dropBefore).not.toHaveBeenCalled();
});

test('once an hour, and silent when there was nothing to do', async () => {
  let now = start;
  const dropBefore = vi.fn(nothing);
  const make = vi.fn(() => Promise.resolve([]));
  const chore = createPartitionChore({ make, dropBefore, days: 30, clock: () => now });
  expect(await chore.run()).toBeNull();
  await chore.run();
  now += 3_600_000;
  await chore.run();
  expect(make).toHaveBeenCalledTimes(2);
  expect(dropBefore).toHaveBeenLastCalledWith(new Date('2026-10-28T01:00:00Z'));
});

test('a table that is in use is asked for once a minute, as each time workers wait behind it', async () => {
  let now = start;
  const make = vi.fn(() => Promise.reject(new Error('in use')));
  const chore = createPartitionChore({ make, dropBefore: nothing, days: 30, clock: () => now });
  await expect(chore.run()).rejects.toThrow('in use');
  expect(await chore.run()).toBeNull();
  now += 60_000;
  await expect(chore.run()).rejects.toThrow('in use');
});
