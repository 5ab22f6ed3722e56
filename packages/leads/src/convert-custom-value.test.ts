import { describe, expect, test } from 'vitest';
import type { CustomField, CustomFieldType, CustomValue } from '@leadgate/contract';
import { convertCustomValue } from './convert-custom-value.ts';

function convert(sent: CustomValue, type: CustomFieldType, options: string[] = []) {
  const field: CustomField = {
    id: 'f',
    workspaceId: 'w',
    name: 'f',
    label: 'f',
    type,
    options,
    archived: false,
  };
  return convertCustomValue(sent, field);
}

describe('text', () => {
  test.each([
    ['Médica', 'Médica'],
    [0, '0'],
    [12.5, '12.5'],
    [false, 'false'],
  ])('%j becomes %j', (sent, value) => {
    expect(convert(sent, 'text')).toEqual({ value });
  });

  test('an array is no text', () => {
    expect(convert(['a'], 'text')).toEqual({ fault: expect.any(String) as string });
  });
});

describe('number', () => {
  test.each([
    [0, 0],
    [-1.5, -1.5],
    ['1200', 1200],
    ['1234.56', 1234.56],
    ['1234,56', 1234.56],
    ['-7', -7],
    ['+7', 7],
    ['007', 7],
    ['-0', 0],
    ['123456789012345', 123456789012345],
  ])('%j becomes %j', (sent, value) => {
    expect(convert(sent, 'number')).toStrictEqual({ value });
  });

  test.each([
    '1.234,56',
    '1,234.56',
    '1.234.567',
    'R$ 10',
    '10%',
    '1e3',
    '0x10',
    '.5',
    '5.',
    '',
    'Infinity',
    '1234567890123456',
    true,
    ['1'],
  ])('%j is ambiguous, inexact or no number', (sent) => {
    expect(convert(sent as CustomValue, 'number')).toEqual({ fault: expect.any(String) as string });
  });
});

describe('boolean', () => {
  test.each([true, 1, '1', 'true', 'TRUE', 'yes', 'Sim', 'on'])('%j is true', (sent) => {
    expect(convert(sent, 'boolean')).toEqual({ value: true });
  });
  test.each([false, 0, '0', 'false', 'No', 'NÃO', 'na\u0303o', 'nao', 'off'])(
    '%j is false, and a value',
    (sent) => {
      expect(convert(sent, 'boolean')).toEqual({ value: false });
    },
  );
  test.each([2, 'talvez', 'constructor', ['true']])('%j is neither', (sent) => {
    expect(convert(sent as CustomValue, 'boolean')).toEqual({ fault: 'Send true or false.' });
  });
});

describe('date', () => {
  test('a day of the calendar is kept, past or future', () => {
    for (const day of ['2024-02-29', '1850-01-01', '2090-12-31'])
      expect(convert(day, 'date')).toEqual({ value: day });
  });
  test.each([
    '2023-02-29',
    '01/02/2024',
    '2024-1-1',
    '2024-01-01T10:00:00Z',
    '0000-01-01',
    20240101,
  ])('%j is no date', (sent) => {
    expect(convert(sent, 'date')).toEqual({ fault: 'Send a real date as YYYY-MM-DD.' });
  });
});

describe('select', () => {
  const options = ['Ouro', 'Prata', 'PRATA', '10'];
  test.each([
    ['Ouro', 'Ouro'],
    [' OURO ', 'Ouro'],
    ['PRATA', 'PRATA'],
    [10, '10'],
  ])('%j is the option %j', (sent, value) => {
    expect(convert(sent, 'select', options)).toEqual({ value });
  });

  test('an option that does not exist is ignored and not added (jstanden/cerb#486)', () => {
    expect(convert('bananas', 'select', options)).toEqual({ fault: expect.any(String) as string });
    expect(options).toEqual(['Ouro', 'Prata', 'PRATA', '10']);
  });

  test('a text between two options is neither', () => {
    expect(convert('prata', 'select', options)).not.toHaveProperty('value');
  });

  test('an array is no choice', () => {
    expect(convert(['Ouro'], 'select', options)).not.toHaveProperty('value');
  });
});

describe('multi-select', () => {
  const options = ['a', 'b', 'c'];
  test('items come once each and in the order of the options', () => {
    expect(convert(['C', 'a', 'c', 'A'], 'multi-select', options)).toEqual({ value: ['a', 'c'] });
    expect(convert('b', 'multi-select', options)).toEqual({ value: ['b'] });
  });
  test('an item that is no option is ignored and said, and the rest kept', () => {
    expect(convert(['a', 'x'], 'multi-select', options)).toEqual({
      value: ['a'],
      fault: expect.any(String) as string,
    });
  });
  test('nothing that is an option leaves no value', () => {
    expect(convert(['x'], 'multi-select', options)).not.toHaveProperty('value');
    expect(convert(true, 'multi-select', options)).not.toHaveProperty('value');
  });
});
