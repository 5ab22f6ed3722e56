import { describe, expect, test } from 'vitest';
import { hashBody, takeIdempotencyKey } from './idempotency.ts';

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
