import { expect, test } from 'vitest';
import { submissionId } from './server.ts';

test('no two submissions get one id, across pages of random bytes', () => {
  const ids = Array.from({ length: 10_000 }, submissionId);
  expect(new Set(ids).size).toBe(ids.length);
  // What is random in them differs too, and is not the time alone.
  expect(new Set(ids.map((id) => id.slice(-12))).size).toBe(ids.length);
});

test('an id is a UUIDv7 of the time', () => {
  const before = Date.now();
  const id = submissionId();
  expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  const time = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
  expect(time).toBeGreaterThanOrEqual(before);
  expect(time).toBeLessThanOrEqual(Date.now());
});
