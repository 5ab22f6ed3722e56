import { expect, test } from 'vitest';
import { readBirthday } from './values.ts';

const today = '2026-07-01';

test.each(['1980-09-27', '1900-01-01', '2000-02-29', '2024-02-29', '2026-07-01', ' 1980-09-27 '])(
  '%j is a birthday',
  (sent) => {
    expect(readBirthday(sent, today)).toBe(sent.trim());
  },
);

test.each([
  '31/02/1981',
  '27/09/1980',
  '1981-02-31',
  '1900-02-29',
  '2023-02-29',
  '1980-13-01',
  '1980-00-10',
  '1980-01-00',
  '1899-12-31',
  '2026-07-02',
  '1980-9-27',
  '1980-09-27T00:00:00Z',
  '19800927',
])('%j is refused', (sent) => {
  expect(readBirthday(sent, today)).toMatchObject({ code: 'not-a-birthday' });
});
