import type { CustomField, CustomFieldType, CustomValue } from '@leadgate/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { convertCustomValue, resolveCustomFields } from './custom-fields.ts';
import { compareCodePoints } from './reading.ts';

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
  test.each([true, 1, '1', 'true', 'TRUE', 'yes', 'Sim', 'on', 'S', 'V', 't', 'VERDADEIRO', 'sí'])(
    '%j is true',
    (sent) => {
      expect(convert(sent, 'boolean')).toEqual({ value: true });
    },
  );
  test.each([false, 0, '0', 'false', 'No', 'NÃO', 'na\u0303o', 'nao', 'off', 'N', 'F', 'FALSO'])(
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
  test('an option may have a comma in it, and stand among others with commas between', () => {
    const meals = ['Casa, comida', 'Roupa'];
    for (const sent of ['Roupa, Casa, comida', 'casa, comida,roupa', 'Roupa; Casa, comida'])
      expect(convert(sent, 'multi-select', meals)).toEqual({ value: meals });
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

function field(id: string, more: Partial<CustomField> = {}): CustomField {
  return {
    id,
    workspaceId: 'w',
    name: `${id}-name`,
    label: `${id}-label`,
    type: 'text',
    options: [],
    archived: false,
    ...more,
  };
}

const codes = (sent: Record<string, CustomValue>, fields: CustomField[]) =>
  resolveCustomFields({ customFields: sent }, fields).notes.map((note) => [note.field, note.code]);

describe('which field a key means', () => {
  test('the id, the name and the label of a field all find it', () => {
    const fields = [field('a'), field('b'), field('c')];
    expect(
      resolveCustomFields({ customFields: { a: '1', 'b-name': '2', 'c-label': '3' } }, fields),
    ).toEqual({
      values: { a: '1', b: '2', c: '3' },
      notes: [],
    });
  });

  test('NFD, other case and spaces around still find the field (hasgeek/funnel#1544)', () => {
    const fields = [field('a', { name: 'Profissão' })];
    for (const key of [' PROFISSÃO ', ' PROFISSA\u0303O ', 'profissão'])
      expect(resolveCustomFields({ customFields: { [key]: 'x' } }, fields)).toEqual({
        values: { a: 'x' },
        notes: [],
      });
  });

  test('a text that is the name of one field and the label of another means the name', () => {
    const fields = [field('a', { label: 'plano' }), field('b', { name: 'plano' })];
    expect(resolveCustomFields({ customFields: { plano: 'x' } }, fields).values).toEqual({
      b: 'x',
    });
  });

  test('a text that is the id of one field and the name of another means the id', () => {
    const fields = [field('a', { name: 'b' }), field('b')];
    expect(resolveCustomFields({ customFields: { b: 'x' } }, fields).values).toEqual({ b: 'x' });
  });

  test('an exact label is found before a name in another case', () => {
    const fields = [field('a', { name: 'PLANO' }), field('b', { label: 'plano' })];
    expect(resolveCustomFields({ customFields: { plano: 'x' } }, fields).values).toEqual({
      b: 'x',
    });
  });

  test('a label of two fields is ambiguous, and so is a name but for case', () => {
    const fields = [
      field('a', { label: 'Plano', name: 'Cor' }),
      field('b', { label: 'Plano', name: 'cor' }),
    ];
    expect(codes({ Plano: 'x', COR: 'y', cor: 'z' }, fields)).toEqual([
      ['/customFields/COR', 'ambiguous-custom-field'],
      ['/customFields/Plano', 'ambiguous-custom-field'],
    ]);
    expect(resolveCustomFields({ customFields: { cor: 'z' } }, fields).values).toEqual({ b: 'z' });
  });

  test('an unknown key is ignored with a note by its escaped pointer', () => {
    expect(codes({ 'no/such~key': 'x' }, [field('a')])).toEqual([
      ['/customFields/no~1such~0key', 'unknown-custom-field'],
    ]);
  });

  test('an archived field is unknown and makes no label ambiguous', () => {
    const archived = field('a', { label: 'Plano', archived: true });
    expect(codes({ a: 'x', Plano: 'y' }, [archived])).toEqual([
      ['/customFields/Plano', 'unknown-custom-field'],
      ['/customFields/a', 'unknown-custom-field'],
    ]);
    const fields = [archived, field('b', { label: 'Plano' })];
    expect(resolveCustomFields({ customFields: { Plano: 'y' } }, fields)).toEqual({
      values: { b: 'y' },
      notes: [],
    });
  });

  test('names that every object inherits are unknown', () => {
    const sent = JSON.parse('{"__proto__":"x","constructor":"y"}') as Record<string, CustomValue>;
    expect(codes(sent, [field('a')])).toEqual([
      ['/customFields/__proto__', 'unknown-custom-field'],
      ['/customFields/constructor', 'unknown-custom-field'],
    ]);
    const fields = [field('a', { name: '__proto__' })];
    expect(resolveCustomFields({ customFields: sent }, fields).values).toEqual({ a: 'x' });
  });
});

describe('two keys for one field', () => {
  const fields = [field('id1', { name: 'Name', label: 'Label' })];
  test.each([
    ['id1', 'Name'],
    ['ID1', 'Name'],
    ['Name', 'Label'],
    ['NAME', 'Label'],
    ['id1', 'ID1'],
    ['Name', 'NAME'],
    ['Label', 'label'],
    [' NAME', 'NAME'],
    ['LABEL', 'lABEL'],
  ])('%j beats %j, in whichever order they were sent', (winner, loser) => {
    const expected = {
      values: { id1: 'won' },
      notes: [{ field: `/customFields/${loser}`, code: 'overridden-custom-field' }],
    };
    expect(
      resolveCustomFields({ customFields: { [winner]: 'won', [loser]: 'lost' } }, fields),
    ).toEqual(expected);
    expect(
      resolveCustomFields({ customFields: { [loser]: 'lost', [winner]: 'won' } }, fields),
    ).toEqual(expected);
  });

  test('of two forms of one key, the lower code point wins, not the lower UTF-16 unit', () => {
    // Two compatibility forms of one ideograph, which NFC makes one.
    const sent = { '\ufa30': 'won', '\u{2f805}': 'lost' };
    expect(
      resolveCustomFields({ customFields: sent }, [field('a', { label: '\u4fae' })]).values,
    ).toEqual({
      a: 'won',
    });
  });

  test('a winner whose value cannot be taken does not let the loser in', () => {
    const numbers = [field('a', { type: 'number' })];
    expect(resolveCustomFields({ customFields: { a: 'x', 'a-name': 1 } }, numbers).values).toEqual(
      {},
    );
    expect(codes({ a: 'x', 'a-name': 1 }, numbers)).toEqual([
      ['/customFields/a-name', 'overridden-custom-field'],
      ['/customFields/a', 'invalid-custom-value'],
    ]);
  });

  test('the order of the keys in the body changes nothing', () => {
    const parts = [
      'a',
      'A',
      'b',
      ' B',
      'a-name',
      'A-NAME',
      'Plano',
      'plano',
      '__proto__',
      '🌸',
      '\ue000',
    ];
    const definitions = [
      field('a', { label: 'Plano' }),
      field('b', { label: 'plano', type: 'number' }),
      field('c', { name: '🌸', label: '\ue000', archived: true }),
    ];
    const entries = fc.uniqueArray(fc.tuple(fc.constantFrom(...parts), fc.constantFrom('x', 1)), {
      selector: ([key]) => key,
    });
    fc.assert(
      fc.property(entries, fc.infiniteStream(fc.nat()), (sent, ranks) => {
        const shuffled = sent
          .map((entry) => ({ entry, rank: Number(ranks.next().value) }))
          .sort((x, y) => x.rank - y.rank)
          .map(({ entry }) => entry);
        expect(
          resolveCustomFields({ customFields: Object.fromEntries(shuffled) }, definitions),
        ).toEqual(resolveCustomFields({ customFields: Object.fromEntries(sent) }, definitions));
      }),
    );
  });
});

test('code points are compared, not UTF-16 units', () => {
  expect(['🌸', '\uffff', 'z', 'a', 'ab', ''].sort(compareCodePoints)).toEqual([
    '',
    'a',
    'ab',
    'z',
    '\uffff',
    '🌸',
  ]);
});

test('a definition renamed in a new list is found by its new name', () => {
  const before = [field('a', { name: 'old' })];
  const after = [field('a', { name: 'new' })];
  expect(resolveCustomFields({ customFields: { new: 'x' } }, before).values).toEqual({});
  expect(resolveCustomFields({ customFields: { new: 'x' } }, after).values).toEqual({ a: 'x' });
});

describe('keys of a form beside a lead’s fields', () => {
  const fields = [
    field('a', { name: 'plano', label: 'Plano escolhido' }),
    field('b', { name: 'cores', type: 'multi-select', options: ['azul', 'verde'] }),
    field('c', { name: 'idade', type: 'number' }),
    field('d', { name: 'velho', archived: true }),
  ];
  const resolve = (otherKeys: Record<string, CustomValue>, customFields = {}) => {
    const { values, notes } = resolveCustomFields({ customFields, otherKeys }, fields);
    return { values, notes: notes.map((note) => [note.field, note.code]) };
  };

  test('are custom fields by their exact names, and noted', () => {
    expect(resolve({ plano: 'ouro', cores: ['verde', 'azul'], idade: '41' })).toEqual({
      values: { a: 'ouro', b: ['azul', 'verde'], c: 41 },
      notes: ['cores', 'idade', 'plano'].map((name) => [`/${name}`, 'top-level-custom-field']),
    });
  });

  test('are nothing by a label, an id, another case, or the name of one that is archived', () => {
    const other = { 'Plano escolhido': 'x', a: 'x', Plano: 'x', ' plano': 'x', velho: 'x' };
    expect(resolve(other)).toEqual({ values: {}, notes: [] });
  });

  test('give way to what customFields says of the same field, whatever its key', () => {
    expect(resolve({ plano: 'x' }, { 'PLANO ESCOLHIDO': 'ouro' })).toEqual({
      values: { a: 'ouro' },
      notes: [['/plano', 'overridden-custom-field']],
    });
  });

  test('refuse nothing: what the type cannot take is noted', () => {
    expect(resolve({ idade: 'quarenta' })).toEqual({
      values: {},
      notes: [
        ['/idade', 'top-level-custom-field'],
        ['/idade', 'invalid-custom-value'],
      ],
    });
  });
});
