import { expect, test } from 'vitest';
import { firstIdAt, monthOf, monthOfName, nameOfMonth, startOfMonth } from './retention.ts';

test('a month is that of UTC, whatever the time zone of the machine', () => {
  const month = monthOf(new Date('2026-12-31T23:59:59.999Z'));
  expect(nameOfMonth(month)).toBe('2026_12');
  expect(startOfMonth(month + 1).toISOString()).toBe('2027-01-01T00:00:00.000Z');
});

test('a partition is read back by its name, and no other table is taken for one', () => {
  const month = monthOf(new Date('2027-02-03T04:05:06Z'));
  expect(monthOfName(`submission_${nameOfMonth(month)}`)).toBe(month);
  for (const name of ['submission_default', 'submission_past', 'submission_2027_13', 'submission'])
    expect(monthOfName(name)).toBeNull();
});

test('the ids of a month begin with its first millisecond', () => {
  const id = firstIdAt(new Date('2026-12-01T00:00:00Z'));
  expect(id).toBe('01a22ee6-b000-0000-0000-000000000000');
  expect(parseInt(id.slice(0, 13).replace('-', ''), 16)).toBe(Date.UTC(2026, 11, 1));
  expect(firstIdAt(new Date(0))).toBe('00000000-0000-0000-0000-000000000000');
});
