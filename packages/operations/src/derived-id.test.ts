import fc from 'fast-check';
import { expect, test } from 'vitest';
import { derivedId, timeOfId } from './derived-id.ts';

test('an id is a UUIDv7 of its time, and follows from what it is derived from', () => {
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 47 }), fc.array(fc.string()), (time, parts) => {
      const id = derivedId(time, parts);
      expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
      expect(timeOfId(id)).toBe(time);
      expect(derivedId(time, parts)).toBe(id);
    }),
  );
});

test('parts are not merely strung together', () => {
  expect(derivedId(0, ['a', 'bc'])).not.toBe(derivedId(0, ['ab', 'c']));
});
