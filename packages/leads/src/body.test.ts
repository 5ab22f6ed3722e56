import { describe, expect, test } from 'vitest';
import { parseBody } from './body.ts';

const json = (text: string) => parseBody(Buffer.from(text), 'json');
const form = (text: string) => parseBody(Buffer.from(text), 'form');

/** As plain objects: qs makes some without a prototype. */
function fields(text: string): unknown {
  const parsed = form(text);
  return parsed.kind === 'parsed' ? JSON.parse(JSON.stringify(parsed.value)) : parsed.kind;
}

describe('a JSON body', () => {
  test('keeps its text as sent, for the record', () => {
    const text = ' {"email" : "ana@example.com"} ';
    expect(json(text)).toEqual({ kind: 'parsed', value: { email: 'ana@example.com' }, text });
  });

  test('may start with a byte order mark, which is no part of it', () => {
    expect(json('\ufeff{"a":1}')).toEqual({ kind: 'parsed', value: { a: 1 }, text: '{"a":1}' });
  });

  test.each(['', ' \n\t', '\ufeff'])('that is blank (%j) is empty, not malformed', (text) => {
    expect(json(text)).toEqual({ kind: 'empty' });
  });

  test.each(['{', "{'a':1}", '{"a":1,}', 'undefined', '{"a":"\n"}', 'NaN'])(
    'that is not JSON (%j) is malformed and keeps its text',
    (text) => {
      expect(json(text)).toEqual({ kind: 'malformed', text });
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

  test('with bytes that are not UTF-8 loses a letter and not the lead', () => {
    const latin1 = Buffer.from('{"name":"Jo\u00e3o"}', 'latin1');
    expect(parseBody(latin1, 'json')).toMatchObject({ value: { name: 'Jo\ufffdo' } });
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

  test('of an old page in Latin-1 loses a letter and not the lead', () => {
    expect(fields('name=Jo%E3o&city=S%C3%A3o%20Paulo')).toEqual({
      name: 'Jo\ufffdo',
      city: 'São Paulo',
    });
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
  ])('that is JSON is read as JSON: %s', (text) => {
    expect(form(text)).toEqual({
      kind: 'parsed',
      value: { email: 'a@example.com', name: 'A&B=C+D' },
      text,
    });
  });

  test('that begins as JSON and is none is malformed, not a key of personal data', () => {
    expect(form('{"email":"a@example.com",}').kind).toBe('malformed');
  });
});
