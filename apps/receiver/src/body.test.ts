import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { hashBody, readMediaType, receiveBody, takeIdempotencyKey } from './body.ts';

const read = (type: string, encoding?: string) =>
  readMediaType({ 'content-type': type, 'content-encoding': encoding });

describe('readMediaType', () => {
  test.each([
    ['application/json', 'json'],
    ['application/json; charset=utf-8', 'json'],
    ['Application/JSON;charset=UTF8', 'json'],
    ['application/json; charset="utf-8"', 'json'],
    ['application/json; version=1; charset=UTF-8', 'json'],
    ['text/plain;charset=UTF-8', 'json'],
    ['text/plain', 'json'],
    ['application/x-www-form-urlencoded; charset=UTF-8', 'form'],
    ['multipart/form-data; boundary=x', 'multipart'],
    ['', 'unsaid'],
  ])('reads %s as %s', (type, expected) => {
    expect(read(type)?.format).toBe(expected);
  });

  test.each([
    'application/json; charset=shift_jis',
    'text/html',
    'application/xml',
    'application/jsonp',
    'multipart/form-data',
    'multipart/mixed; boundary=x',
  ])('does not guess at %j', (type) => {
    expect(read(type)).toBeNull();
  });

  test('refuses a compressed body and takes one that says it is not', () => {
    expect(read('application/json', 'gzip')).toBeNull();
    expect(read('application/json', 'identity, br')).toBeNull();
    expect(read('application/json', ' Identity ')?.format).toBe('json');
    expect(read('application/json', '')?.format).toBe('json');
  });

  test('takes a body without a type for what it looks like', () => {
    expect(readMediaType({})).toEqual({ format: 'unsaid', charset: undefined });
  });

  test.each([
    ['application/json; charset=iso-8859-1', 'windows-1252'],
    ['application/x-www-form-urlencoded; charset=windows-1252', 'windows-1252'],
    ['text/plain; charset=utf-16le', 'utf-16'],
    ['application/json; charset=us-ascii', 'utf-8'],
    ['application/json', undefined],
  ])('knows the charset of %s', (type, charset) => {
    expect(read(type)?.charset).toBe(charset);
  });
});

/** A body as it comes in, in chunks of one size. */
function receive(body: Buffer, type: string, chunkSize = 1_000) {
  const headers = { 'content-type': type };
  const payload = new IncomingMessage(new Socket());
  payload.headers = headers;
  for (let i = 0; i < body.length; i += chunkSize) payload.push(body.subarray(i, i + chunkSize));
  payload.push(null);
  const mediaType = readMediaType(headers);
  if (mediaType === null) throw new Error('not a media type that is read');
  return receiveBody(payload, mediaType);
}

/** A multipart form of parts that are written as they are. */
function multipart(...parts: [head: string, content: Buffer | string][]): Buffer {
  const lines = parts.flatMap(([head, content]) => [
    `--XX\r\nContent-Disposition: form-data; ${head}\r\n\r\n`,
    content,
    '\r\n',
  ]);
  return Buffer.concat([...lines, '--XX--\r\n'].map((one) => Buffer.from(one)));
}
const MULTIPART = 'multipart/form-data; boundary=XX';

describe('a multipart form', () => {
  test.each([1, 7, 1_000])('is the form it is, in chunks of %d bytes', async (chunkSize) => {
    const body = multipart(
      ['name="name"', 'José & Ana=1'],
      ['name="address[city]"', 'São Paulo'],
      ['name="customFields[tags]"', 'a'],
      ['name="customFields[tags]"', 'b'],
      ['name="photo"; filename=""\r\nContent-Type: application/octet-stream', ''],
    );
    expect(await receive(body, MULTIPART, chunkSize)).toEqual({
      kind: 'read',
      type: 'form',
      text: 'name=Jos%C3%A9+%26+Ana%3D1&address%5Bcity%5D=S%C3%A3o+Paulo&customFields%5Btags%5D=a&customFields%5Btags%5D=b',
      notes: [],
    });
  });

  test('drops its files, however large, with a note', async () => {
    const body = multipart(
      ['name="email"', 'ana@example.com'],
      ['name="curr/iculo"; filename="ana.pdf"\r\nContent-Type: application/pdf', Buffer.alloc(3e6)],
    );
    expect(await receive(body, MULTIPART, 65_536)).toEqual({
      kind: 'read',
      type: 'form',
      text: 'email=ana%40example.com',
      notes: [{ field: '/curr~1iculo', code: 'file-dropped' }],
    });
  });

  test('of more than 10 MiB is not read to its end', async () => {
    const body = multipart(['name="f"; filename="a"', Buffer.alloc(11 * 2 ** 20)]);
    expect(await receive(body, MULTIPART, 65_536)).toEqual({ kind: 'too-large', drained: false });
  });

  test('has fields of 64 KiB at most, as one or all together', async () => {
    const fits = multipart(['name="name"', 'x'.repeat(60_000)]);
    expect(await receive(fits, MULTIPART)).toMatchObject({ kind: 'read' });
    const one = multipart(['name="name"', 'x'.repeat(70_000)]);
    expect(await receive(one, MULTIPART)).toEqual({ kind: 'too-large', drained: true });
    const many = multipart(
      ...Array.from({ length: 70 }, (_, n): [string, string] => [
        `name="f${n}"`,
        'x'.repeat(1_000),
      ]),
    );
    expect(await receive(many, MULTIPART)).toEqual({ kind: 'too-large', drained: true });
  });

  test('of an old page keeps its accents, and is noted', async () => {
    const body = multipart(['name="name"', Buffer.from('Jos\u00e9', 'latin1')]);
    expect(await receive(body, MULTIPART)).toMatchObject({
      text: 'name=Jos%C3%A9',
      notes: [{ field: '', code: 'not-utf-8' }],
    });
  });

  test.each([
    ['that breaks off', multipart(['name="name"', 'Ana']).subarray(0, 60)],
    ['of nothing', Buffer.from('{"email":"ana@example.com"}')],
  ])('%s is malformed', async (_, body) => {
    expect(await receive(body, MULTIPART)).toEqual({ kind: 'malformed-form' });
  });

  test('is not misled by parts without a name, and by names of prototypes', async () => {
    const body = multipart(
      ['filename="x"', 'a'],
      ['x="y"', 'b'],
      ['name="__proto__[admin]"', '1'],
      ['name="email"', 'ana@example.com'],
    );
    expect(await receive(body, MULTIPART)).toMatchObject({
      text: '__proto__%5Badmin%5D=1&email=ana%40example.com',
    });
  });
});

describe('a body without a type', () => {
  test.each([
    ['{"email":"ana@example.com"}', 'json'],
    [' [1]', 'json'],
    ['email=ana%40example.com', 'form'],
  ])('(%s) is %s', async (text, type) => {
    expect(await receive(Buffer.from(text), '')).toMatchObject({ text, type });
  });
});

describe('takeIdempotencyKey', () => {
  test('takes the key of the header', () => {
    const body = { email: 'ana@example.com' };
    expect(takeIdempotencyKey(' k-1 ', body)).toEqual({ key: { kind: 'key', key: 'k-1' }, body });
  });

  test('takes the key of a beacon off its body, so that both are the same post', () => {
    expect(takeIdempotencyKey(undefined, { _idempotencyKey: 'k-1', a: 1 })).toEqual({
      key: { kind: 'key', key: 'k-1' },
      body: { a: 1 },
    });
  });

  test('prefers the header to the body', () => {
    expect(takeIdempotencyKey('header', { _idempotencyKey: 'body' })).toEqual({
      key: { kind: 'key', key: 'header' },
      body: {},
    });
  });

  test.each([undefined, '', '  '])('has none where the header is %j', (header) => {
    expect(takeIdempotencyKey(header, {}).key).toEqual({ kind: 'none' });
  });

  test.each([null, '', ' '])('has none where the field is %j', (value) => {
    expect(takeIdempotencyKey(undefined, { _idempotencyKey: value }).key).toEqual({ kind: 'none' });
  });

  test.each([['x'.repeat(256)], ['caf\u00e9'], ['a\tb']])(
    'refuses a header it could not remember exactly, and names it',
    (header) => {
      const { key } = takeIdempotencyKey(header, {});
      expect(key).toMatchObject({ kind: 'invalid', error: { pointer: '' } });
      expect(JSON.stringify(key)).toContain('Idempotency-Key');
    },
  );

  test.each([7, ['k'], { k: 1 }, 'x'.repeat(256)])('points at a bad field', (value) => {
    expect(takeIdempotencyKey(undefined, { _idempotencyKey: value }).key).toMatchObject({
      kind: 'invalid',
      error: { pointer: '/_idempotencyKey' },
    });
  });

  test('takes a key of 255 characters', () => {
    const key = 'x'.repeat(255);
    expect(takeIdempotencyKey(key, {}).key).toEqual({ kind: 'key', key });
  });

  test.each([null, [], 'text', 7])('leaves a body that is no object alone', (body) => {
    expect(takeIdempotencyKey('k', body)).toEqual({ key: { kind: 'key', key: 'k' }, body });
  });

  test('keeps a key named __proto__ a harmless key', () => {
    const body: unknown = JSON.parse('{"__proto__":{"admin":1},"_idempotencyKey":"k"}');
    const rest = takeIdempotencyKey(undefined, body).body as object;
    expect(Object.getPrototypeOf(rest)).toBe(Object.prototype);
    expect(Object.keys(rest)).toEqual(['__proto__']);
  });
});

describe('hashBody', () => {
  test('is the same for the same values, whatever their order and spacing', () => {
    expect(hashBody({ a: 1, b: { c: [1, null], d: 'x' } }, '1')).toBe(
      hashBody({ b: { d: 'x', c: [1, null] }, a: 1 }, '2'),
    );
  });

  test.each([
    [{ a: 1 }, { a: '1' }],
    [{ a: [1, 2] }, { a: [2, 1] }],
    [{ a: null }, {}],
    [{ a: { b: 1 } }, { 'a.b': 1 }],
    [['a', 'b'], ['a,b']],
  ])('differs between %j and %j', (one, other) => {
    expect(hashBody(one, 'text')).not.toBe(hashBody(other, 'text'));
  });

  test('knows a body too deep to walk by its text', () => {
    const text = '['.repeat(20_000) + ']'.repeat(20_000);
    const body: unknown = JSON.parse(text);
    expect(hashBody(body, text)).toBe(hashBody(body, text));
    expect(hashBody(body, text)).not.toBe(hashBody(body, `${text} `));
  });
});
