import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CustomField, CustomValue } from '@leadgate/contract';
import { compareCodePoints } from './compare-code-points.ts';
import { resolveCustomFields } from './resolve-custom-fields.ts';

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
  resolveCustomFields(sent, fields).notes.map((note) => [note.field, note.code]);

describe('which field a key means', () => {
  test('the id, the name and the label of a field all find it', () => {
    const fields = [field('a'), field('b'), field('c')];
    expect(resolveCustomFields({ a: '1', 'b-name': '2', 'c-label': '3' }, fields)).toEqual({
      values: { a: '1', b: '2', c: '3' },
      notes: [],
    });
  });

  test('NFD, other case and spaces around still find the field (hasgeek/funnel#1544)', () => {
    const fields = [field('a', { name: 'Profissão' })];
    for (const key of [' PROFISSÃO ', ' PROFISSA\u0303O ', 'profissão'])
      expect(resolveCustomFields({ [key]: 'x' }, fields)).toEqual({
        values: { a: 'x' },
        notes: [],
      });
  });

  test('a text that is the name of one field and the label of another means the name', () => {
    const fields = [field('a', { label: 'plano' }), field('b', { name: 'plano' })];
    expect(resolveCustomFields({ plano: 'x' }, fields).values).toEqual({ b: 'x' });
  });

  test('a text that is the id of one field and the name of another means the id', () => {
    const fields = [field('a', { name: 'b' }), field('b')];
    expect(resolveCustomFields({ b: 'x' }, fields).values).toEqual({ b: 'x' });
  });

  test('an exact label is found before a name in another case', () => {
    const fields = [field('a', { name: 'PLANO' }), field('b', { label: 'plano' })];
    expect(resolveCustomFields({ plano: 'x' }, fields).values).toEqual({ b: 'x' });
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
    expect(resolveCustomFields({ cor: 'z' }, fields).values).toEqual({ b: 'z' });
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
    expect(resolveCustomFields({ Plano: 'y' }, fields)).toEqual({ values: { b: 'y' }, notes: [] });
  });

  test('names that every object inherits are unknown', () => {
    const sent = JSON.parse('{"__proto__":"x","constructor":"y"}') as Record<string, CustomValue>;
    expect(codes(sent, [field('a')])).toEqual([
      ['/customFields/__proto__', 'unknown-custom-field'],
      ['/customFields/constructor', 'unknown-custom-field'],
    ]);
    const fields = [field('a', { name: '__proto__' })];
    expect(resolveCustomFields(sent, fields).values).toEqual({ a: 'x' });
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
    expect(resolveCustomFields({ [winner]: 'won', [loser]: 'lost' }, fields)).toEqual(expected);
    expect(resolveCustomFields({ [loser]: 'lost', [winner]: 'won' }, fields)).toEqual(expected);
  });

  test('of two forms of one key, the lower code point wins, not the lower UTF-16 unit', () => {
    // Two compatibility forms of one ideograph, which NFC makes one.
    const sent = { '\ufa30': 'won', '\u{2f805}': 'lost' };
    expect(resolveCustomFields(sent, [field('a', { label: '\u4fae' })]).values).toEqual({
      a: 'won',
    });
  });

  test('a winner whose value cannot be taken does not let the loser in', () => {
    const numbers = [field('a', { type: 'number' })];
    expect(resolveCustomFields({ a: 'x', 'a-name': 1 }, numbers).values).toEqual({});
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
        expect(resolveCustomFields(Object.fromEntries(shuffled), definitions)).toEqual(
          resolveCustomFields(Object.fromEntries(sent), definitions),
        );
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
  expect(resolveCustomFields({ new: 'x' }, before).values).toEqual({});
  expect(resolveCustomFields({ new: 'x' }, after).values).toEqual({ a: 'x' });
});
