import { expect, test } from 'vitest';
import { decideOrder, orderOf, readDay, readTime } from './times.ts';

const BRAZIL = { order: 'day-first', zone: 'America/Sao_Paulo' } as const;
const iso = (value: unknown, reading: Parameters<typeof readTime>[1] = BRAZIL) => {
  const time = readTime(value, reading);
  return time === null ? null : new Date(time / 1_000).toISOString();
};

test.each([
  ['2026-11-20 14:22:31.123456+00', '2026-11-20T14:22:31.123Z'],
  ['2026-11-20 14:22:31-03', '2026-11-20T17:22:31.000Z'],
  ['2026-11-20T14:22:31.123Z', '2026-11-20T14:22:31.123Z'],
  ['2026-11-20T14:22:31+0530', '2026-11-20T08:52:31.000Z'],
  ['2026/11/20 2:22:31 PM GMT-3', '2026-11-20T17:22:31.000Z'],
  ['2026/11/20 2:22:31 PM GMT-03:00', '2026-11-20T17:22:31.000Z'],
  ['2026-11-20 14:22:31 UTC', '2026-11-20T14:22:31.000Z'],
  ['2026-11-20 14:22', '2026-11-20T17:22:00.000Z'],
  ['2026-11-20', '2026-11-20T03:00:00.000Z'],
  ['20/11/26 14:22', '2026-11-20T17:22:00.000Z'],
  ['20.11.2026 14:22', '2026-11-20T17:22:00.000Z'],
  ['20-11-2026 14:22:31', '2026-11-20T17:22:31.000Z'],
  ['20/11/2026, 14:22:31', '2026-11-20T17:22:31.000Z'],
  ['20/11/2026 às 14h22', '2026-11-20T17:22:00.000Z'],
  ['20/11/2026 - 14:22', '2026-11-20T17:22:00.000Z'],
  ['20/11/2026 2:22 p.m.', '2026-11-20T17:22:00.000Z'],
  ['12/11/2026 12:05 AM', '2026-11-12T03:05:00.000Z'],
  ['20 de novembro de 2026 14:22', '2026-11-20T17:22:00.000Z'],
  ['20/nov/2026 14:22', '2026-11-20T17:22:00.000Z'],
  ['20-Nov-26', '2026-11-20T03:00:00.000Z'],
  ['Fri, 20 Nov 2026 14:22:31 -0300', '2026-11-20T17:22:31.000Z'],
  ['Nov 20, 2026 2:22 PM', '2026-11-20T17:22:00.000Z'],
  ['sexta-feira, 20 de novembro de 2026', '2026-11-20T03:00:00.000Z'],
  ['2026-11-20 14:22:31,5', '2026-11-20T17:22:31.500Z'],
  ['20261120', '2026-11-20T03:00:00.000Z'],
  ['20261120T142231Z', '2026-11-20T14:22:31.000Z'],
  ['20261120142231', '2026-11-20T17:22:31.000Z'],
  ['2026-11-20 14:22:31 +0000 UTC', '2026-11-20T14:22:31.000Z'],
  ['Fri Nov 20 2026 14:22:31 GMT-0300 (Horário Padrão de Brasília)', '2026-11-20T17:22:31.000Z'],
  ['Fri Nov 20 14:22:31 2026', '2026-11-20T17:22:31.000Z'],
  ['Fri Nov 20 14:22:31 UTC 2026', '2026-11-20T14:22:31.000Z'],
  ['2026-11-20 14:22:31 PM', '2026-11-20T17:22:31.000Z'],
  ['2026-11-20 14:22:31 EST', '2026-11-20T19:22:31.000Z'],
  ['20/11/2026 2:22 p. m.', '2026-11-20T17:22:00.000Z'],
  ['20/11/2026, 2:22:31 p.\u00a0m.', '2026-11-20T17:22:31.000Z'],
  ['20-NOV-26 02.22.31.000000 PM', '2026-11-20T17:22:31.000Z'],
  ['20.11.2026 14.22', '2026-11-20T17:22:00.000Z'],
  ['\u200e20/11/2026 \u200e14:22', '2026-11-20T17:22:00.000Z'],
  ['20th November 2026', '2026-11-20T03:00:00.000Z'],
  ['45000,5', '2023-03-15T15:00:00.000Z'],
  ['1795184551', '2026-11-20T14:22:31.000Z'],
  [1795184551000, '2026-11-20T14:22:31.000Z'],
  // Daylight saving of a year that had it.
  ['2018-12-20 12:00', '2018-12-20T14:00:00.000Z'],
])('%s is read', (written, expected) => expect(iso(written)).toBe(expected));

test.each([
  'soon',
  '31/02/2026',
  '2026-13-01',
  '20/11/2026 25:00',
  '20/11/2026 14',
  '',
  '14:22',
  '0',
  'x'.repeat(99),
  '20/11/2026 14:22 Marte',
  '12345678',
  '20261320',
  '13/11/2026 0:05 AM',
])('%j is no time', (written) => expect(iso(written)).toBeNull());

test('days of spreadsheets are local times', () =>
  expect(iso('46346.5')).toBe('2026-11-20T15:00:00.000Z'));

test('day and month are decided by the rows that tell, else by the country', () => {
  expect(orderOf('20/11/2026')).toBe('day-first');
  expect(orderOf('11/20/2026')).toBe('month-first');
  expect(orderOf('05/06/2026')).toBe('both');
  expect([orderOf('05/05/2026'), orderOf('2026-05-06'), orderOf('5.6.2026')]).toEqual([
    null,
    null,
    null,
  ]);
  const seen = { both: 3, 'day-first': 0, 'month-first': 0 };
  expect(decideOrder({ ...seen, 'month-first': 1 }, 'BR')).toEqual({
    order: 'month-first',
    decidedBy: 'rows',
  });
  expect(decideOrder(seen, 'BR')).toEqual({ order: 'day-first', decidedBy: 'country' });
  expect(decideOrder(seen, 'US')).toMatchObject({ order: 'month-first' });
  expect(decideOrder({ ...seen, both: 0 }, 'BR')).toMatchObject({ decidedBy: null });
  expect(iso('11/05/2026 10:00', { order: 'month-first', zone: -180 })).toBe(
    '2026-11-05T13:00:00.000Z',
  );
});

test.each([
  ['05/03/1988', '1988-03-05'],
  ['05/03/88', '1988-03-05'],
  ['05/03/25', '2025-03-05'],
  ['05/03/45', '1945-03-05'],
  ['05/03/2045', '2045-03-05'],
  ['1988-03-05', '1988-03-05'],
  ['1988-03-05 00:00:00', '1988-03-05'],
  ['5 de março de 1988', '1988-03-05'],
  ['31/12/1899', null],
  ['31/02/1988', null],
  ['03/25/1988', null],
  // Another day where most people are.
  ['1988-03-05T01:00:00Z', null],
  ['32207', null],
  ['soon', null],
])('%s is the day %s', (written, day) =>
  expect(readDay(written, 'day-first', '2026-11-28')).toBe(day),
);
