import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyMergePatch, diffMergePatch, type Json } from './job.ts';

/** Keys that objects inherit are among them, and few enough that two objects share some. */
const key = fc.constantFrom('a', 'b', '', '__proto__', 'constructor', 'toString');
const { json, solid } = fc.letrec<{ json: Json; solid: Json; object: { [key: string]: Json } }>(
  (tie) => ({
    json: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(null, true, 0, -0, 1.5, '', 'x'),
      fc.array(tie('json'), { maxLength: 3 }),
      fc.dictionary(key, tie('json'), { maxKeys: 4 }),
    ),
    /** Without null in an object: a merge patch cannot say it. */
    solid: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(true, 0, 1.5, '', 'x'),
      fc.array(tie('json'), { maxLength: 3 }),
      fc.dictionary(key, tie('solid'), { maxKeys: 4 }),
    ),
    object: fc.dictionary(key, tie('solid'), { maxKeys: 5 }),
  }),
);
const target = fc.dictionary(key, solid, { maxKeys: 5 });
/** What arrives on the other side of Redis. */
const sent = (value: unknown) => JSON.parse(JSON.stringify(value)) as Json;

describe('RFC 7396', () => {
  test.each<[Json, Json, Json]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('appendix A: %j patched with %j is %j', (original, patch, result) => {
    expect(sent(applyMergePatch(original, patch))).toEqual(result);
  });
});

test('a patch between any two values, sent as JSON, gives the second', () => {
  fc.assert(
    fc.property(fc.option(json, { nil: undefined }), target, (from, to) => {
      const patch = sent(diffMergePatch(from, to));
      expect(sent(applyMergePatch(from, patch))).toEqual(sent(to));
    }),
    { numRuns: 2000 },
  );
});

test('between equal objects there is nothing to say', () => {
  fc.assert(
    fc.property(target, (value) => {
      expect(Object.keys(diffMergePatch(value, value))).toEqual([]);
    }),
  );
});

test('neither argument is changed, and no prototype', () => {
  const from = sent(JSON.parse('{"a":{"__proto__":{"x":1}}}'));
  const patch = sent(JSON.parse('{"a":{"__proto__":{"polluted":1}},"__proto__":{"polluted":1}}'));
  const before = JSON.stringify([from, patch]);
  const result = applyMergePatch(from, patch);
  expect(JSON.stringify(result)).toBe(
    '{"a":{"__proto__":{"x":1,"polluted":1}},"__proto__":{"polluted":1}}',
  );
  expect(JSON.stringify([from, patch])).toBe(before);
  expect({}).not.toHaveProperty('polluted');
});
