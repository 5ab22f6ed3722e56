import { expect, test } from 'vitest';
import { prefersLenient } from './ingest.ts';

test.each([
  'handling=lenient',
  'Handling = "Lenient"',
  'respond-async, handling=lenient;q=1',
  'return=minimal,handling=lenient, handling=strict',
])('%j asks for lenient handling', (header) => {
  expect(prefersLenient(header)).toBe(true);
});

test.each([
  undefined,
  '',
  'lenient',
  'handling',
  'handling=strict',
  'handling=strict, handling=lenient',
  'xhandling=lenient',
])('%j does not', (header) => {
  expect(prefersLenient(header)).toBe(false);
});

test('is found in a header that was sent twice', () => {
  expect(prefersLenient(['return=minimal', 'handling=lenient'])).toBe(true);
});
