import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { decodeText, parseBody, type Charset } from './body.ts';

const json = (text: string) => parseBody(text, 'json');
const form = (text: string) => parseBody(text, 'form');

describe('the bytes of a body', () => {
  const TEXT = '{"name":"João “Zé” 5€"}';
  const windows1252 = Buffer.from(
    TEXT.replace('“', '\x93').replace('”', '\x94').replace('€', '\x80'),
    'latin1',
  );
  const utf16le = Buffer.from(TEXT, 'utf16le');
  const utf16be = Buffer.from(utf16le).swap16();

  test.each<[string, Buffer, Charset | undefined, string[]]>([
    ['UTF-8', Buffer.from(TEXT), undefined, []],
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${TEXT}`), undefined, []],
    ['UTF-8 that says so', Buffer.from(TEXT), 'utf-8', []],
    ['windows-1252 that says so', windows1252, 'windows-1252', []],
    ['windows-1252 that says nothing', windows1252, undefined, ['not-utf-8']],
    ['windows-1252 that is said to be UTF-8', windows1252, 'utf-8', ['not-utf-8']],
    ['UTF-16', utf16le, 'utf-16', []],
    ['UTF-16, the other way round', utf16be, 'utf-16', []],
    [
      'UTF-16 that says so by its first bytes only',
      Buffer.concat([Buffer.from([0xff, 0xfe]), utf16le]),
      undefined,
      [],
    ],
  ])('in %s keep their accents', (_, bytes, charset, notes) => {
    const decoded = decodeText(bytes, charset);
    expect(decoded.text).toBe(TEXT);
    expect(decoded.notes.map(({ code }) => code)).toEqual(notes);
  });
});

/** As plain objects: qs makes some without a prototype. */
function fields(text: string): unknown {
  const parsed = form(text);
  return parsed.kind === 'parsed' ? JSON.parse(JSON.stringify(parsed.value)) : parsed.kind;
}

describe('a JSON body', () => {
  test('is its value', () => {
    const text = ' {"email" : "ana@example.com"} ';
    expect(json(text)).toEqual({ kind: 'parsed', value: { email: 'ana@example.com' }, notes: [] });
  });

  test.each(['', ' \n\t', '\ufeff'])('that is blank (%j) is empty, not malformed', (text) => {
    expect(json(text)).toEqual({ kind: 'empty' });
  });

  test.each(['{', "{'a':1}", '{"a":1,}', 'undefined', '{"a":"\n"}', 'NaN'])(
    'that is not JSON (%j) is malformed',
    (text) => {
      expect(json(text)).toEqual({ kind: 'malformed' });
    },
  );

  test('cannot reach the prototype of anything', () => {
    const parsed = json('{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}');
    expect(parsed.kind).toBe('parsed');
    expect(Reflect.get({}, 'admin')).toBeUndefined();
    expect(parsed).toHaveProperty('value');
    if (parsed.kind === 'parsed')
      expect(Object.keys(parsed.value as object)).toEqual(['__proto__', 'constructor']);
  });

  test('of 64 KiB of brackets costs no stack', () => {
    const deep = '['.repeat(32_768) + ']'.repeat(32_768);
    expect(json(deep).kind).toBe('parsed');
  });

  test('keeps the digits of an integer that a number cannot hold: they are an id', () => {
    const text =
      '{"adId":120211234567890123,"a":[-9007199254740993],"n":9007199254740991,"f":0.12345678901234567,"e":1e30,"s":"120211234567890123, \\"12021123456789012345\\""}';
    expect(json(text)).toMatchObject({
      value: {
        adId: '120211234567890123',
        a: ['-9007199254740993'],
        n: Number.MAX_SAFE_INTEGER,
        f: Number('0.12345678901234567'),
        e: 1e30,
        s: '120211234567890123, "12021123456789012345"',
      },
    });
    expect(json('{12345678901234567890:1}').kind).toBe('malformed');
    expect(json('{"a":01234567890123456789}').kind).toBe('malformed');
  });

  test('is what JSON.parse says, whatever stands beside a long integer', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.bigInt({ min: 2n ** 53n, max: 2n ** 90n }), (value, id) => {
        const parsed = json(`[${JSON.stringify(value)}, ${id}]`);
        const exact: unknown = JSON.parse(JSON.stringify(value), (_, one: unknown) =>
          typeof one === 'number' && /^-?\d+$/.test(String(one)) && !Number.isSafeInteger(one)
            ? String(one)
            : one,
        );
        expect(parsed).toEqual({ kind: 'parsed', value: [exact, String(id)], notes: [] });
      }),
    );
  });
});

describe('a form body', () => {
  test('names fields of fields in brackets', () => {
    expect(
      fields(
        'email=ana%2Bx%40example.com&name=Ana+Lima&address[city]=Recife&customFields%5Bplan%5D=gold',
      ),
    ).toEqual({
      email: 'ana+x@example.com',
      name: 'Ana Lima',
      address: { city: 'Recife' },
      customFields: { plan: 'gold' },
    });
  });

  test('counts the last of a repeated name, as a checkbox after its hidden field means it', () => {
    expect(fields('name=a&name=b&address[city]=c&address[city]=d')).toEqual({
      name: 'b',
      address: { city: 'd' },
    });
  });

  test.each([
    'customFields[tags]=a&customFields[tags]=b',
    'customFields[tags][]=a&customFields[tags][]=b',
    'customFields[tags][0]=a&customFields[tags][1]=b',
  ])('collects the values of a custom field: %s', (text) => {
    expect(fields(text)).toEqual({ customFields: { tags: ['a', 'b'] } });
  });

  test.each(['tags=a&tags=b', 'tags[]=a&tags[]=b', 'customFields.tags=a&customFields.tags=b'])(
    'collects the values of what may be a custom field at the top level: %s',
    (text) => {
      expect(Object.values(fields(text) as object)).toEqual([['a', 'b']]);
    },
  );

  test('makes a list of one value that is sent as a list', () => {
    expect(fields('customFields[tags][]=a')).toEqual({ customFields: { tags: ['a'] } });
  });

  test('takes a number for the name of a custom field, not for a place in a list', () => {
    expect(fields('customFields[0]=a&customFields[7]=b')).toEqual({
      customFields: { 0: 'a', 7: 'b' },
    });
  });

  test('cannot reach the prototype of anything', () => {
    fields('__proto__[admin]=1&constructor[prototype][admin]=1&customFields[__proto__][admin]=1');
    expect(Reflect.get({}, 'admin')).toBeUndefined();
  });

  test('has custom fields named like what objects inherit', () => {
    expect(fields('customFields[toString]=a')).toEqual({ customFields: { toString: 'a' } });
  });

  test('of an old page in windows-1252 keeps its accents, and is noted', () => {
    const text = 'name=Jo%E3o&city=S%C3%A3o%20Paulo&profession=%93%80%94+日本';
    expect(fields(text)).toEqual({ name: 'João', city: 'São Paulo', profession: '“€” 日本' });
    expect(form(text)).toMatchObject({ notes: [{ field: '', code: 'not-utf-8' }] });
    expect(form('city=S%C3%A3o')).toMatchObject({ notes: [] });
  });

  test('of more fields than it may have is refused, not cut', () => {
    expect(fields(Array.from({ length: 1_001 }, (_, i) => `f${i}=1`).join('&'))).toBe(
      'too-many-fields',
    );
    expect(fields(Array.from({ length: 101 }, () => 'customFields[a]=1').join('&'))).toBe(
      'too-many-fields',
    );
  });

  test('that is blank is empty', () => {
    expect(form('').kind).toBe('empty');
  });

  test.each([
    '{"email":"a@example.com","name":"A&B=C+D"}',
    `${encodeURIComponent('{"email":"a@example.com","name":"A&B=C+D"}')}=`,
    '{"email":"a@example.com","name":"A&B=C+D"}=',
    ' \n{"email":"a@example.com","name":"A&B=C+D"}',
    `%EF%BB%BF${encodeURIComponent('{"email":"a@example.com","name":"A&B=C+D"}')}`,
    `+${encodeURIComponent('{"email":"a@example.com","name":"A&B=C+D"}')}=`,
  ])('that is JSON is read as JSON: %s', (text) => {
    expect(form(text)).toEqual({
      kind: 'parsed',
      value: { email: 'a@example.com', name: 'A&B=C+D' },
      notes: [],
    });
  });

  test.each([
    ['[{"email":"a@example.com"}]', [{ email: 'a@example.com' }]],
    [encodeURIComponent('[{"email":"a@example.com"}]'), [{ email: 'a@example.com' }]],
    ['"{}"', '{}'],
    ['11987650001', 11987650001],
    ['null', null],
  ])('that is another value of JSON is that value, and no name of a field: %s', (text, value) => {
    expect(form(text)).toEqual({ kind: 'parsed', value, notes: [] });
  });

  test.each(['%5Bx%5D=1', '[x]=1', 'true=1', '[object Object]'])(
    'that only looks like it is a form: %s',
    (text) => expect(Object.keys(fields(text) as object)).toHaveLength(1),
  );

  test('that begins as JSON and is none is malformed, not a key of personal data', () => {
    expect(form('{"email":"a@example.com",}').kind).toBe('malformed');
  });
});
