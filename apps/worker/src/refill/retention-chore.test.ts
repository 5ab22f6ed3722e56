import { expect, test } from 'vitest';
import { createRetentionChore } from './retention-chore.ts';

test('what is older than it is to be kept goes, and is looked for once an hour', async () => {
  let now = Date.UTC(2026, 10, 27);
  const asked: string[] = [];
  const chore = createRetentionChore(
    (moment) => Promise.resolve(asked.push(moment.toISOString())),
    { days: 30, clock: () => now },
  );
  expect(await chore.run()).toEqual({ dropped: 1 });
  expect(await chore.run()).toBeNull();
  now += 3_600_000;
  await chore.run();
  expect(asked).toEqual(['2026-10-28T00:00:00.000Z', '2026-10-28T01:00:00.000Z']);
});

test('a run that failed is made up for at the next', async () => {
  let fails = true;
  const chore = createRetentionChore(
    () => (fails ? Promise.reject(new Error('away')) : Promise.resolve(3)),
    { days: 30, clock: () => 0 },
  );
  await expect(chore.run()).rejects.toThrow('away');
  fails = false;
  expect(await chore.run()).toEqual({ dropped: 3 });
});
