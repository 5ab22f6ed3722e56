import { describe, expect, test } from 'vitest';
import { nearName, readDuration, readMoment } from './read.ts';

describe('durations', () => {
  test.each([
    ['0', 0],
    ['90s', 90],
    ['30m', 1800],
    ['12h', 43_200],
    ['7d', 604_800],
    [' 2w ', 1_209_600],
  ])('%j is %d seconds', (text, seconds) => {
    expect(readDuration(text)).toBe(seconds);
  });

  test.each(['', '7', '-1d', '1.5h', '7 d', '1y', 'd', '999999999w', '7D', '٧d'])(
    '%j is refused and not guessed at',
    (text) => {
      expect(readDuration(text)).toBeNull();
    },
  );
});

describe('moments', () => {
  const now = new Date('2026-11-27T12:00:00Z');

  test.each([
    ['2027-01-31', '2027-01-31T00:00:00.000Z'],
    ['2027-01-31T18:00:00-03:00', '2027-01-31T21:00:00.000Z'],
    ['2027-01-31T18:00Z', '2027-01-31T18:00:00.000Z'],
    ['30d', '2026-12-27T12:00:00.000Z'],
  ])('%j is %s', (text, iso) => {
    expect(readMoment(text, now)?.toISOString()).toBe(iso);
  });

  test.each(['2027-02-30', '2027-13-01', '2027-01-31T18:00:00', '31/01/2027', 'tomorrow', ''])(
    '%j, no date or without its zone, is refused',
    (text) => {
      expect(readMoment(text, now)).toBeNull();
    },
  );
});

describe('near names', () => {
  const names = ['Agência São João', 'Construtora Boa Vista', 'Demo'];

  test.each([
    ['agencia sao joao', 'Agência São João'],
    ['Construtora Boavista', 'Construtora Boa Vista'],
    ['Demmo', 'Demo'],
    ['const', 'Construtora Boa Vista'],
  ])('%j is near %j', (typed, near) => {
    expect(nearName(typed, names)).toBe(near);
  });

  test('what is near to none suggests none', () => {
    expect(nearName('something else', names)).toBeNull();
    expect(nearName('x', [])).toBeNull();
  });
});
