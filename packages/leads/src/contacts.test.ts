import { describe, expect, test } from 'vitest';
import { contactsIn } from './body.ts';

const EMAIL = 'email:ana+tag@example.com';
const PHONE = 'phone:+5511987654321';

const found = (value: unknown) => contactsIn(value, 'BR');

describe('a person is found in what was kept of them', () => {
  test.each([
    ['a field', { email: ' Ana+tag@Example.com ' }],
    ['a key of another service', { contact: { mail: 'Ana <ana+tag@example.com>' } }],
    ['a key itself', { 'ana+tag@example.com': true }],
    ['the text of a body of JSON', '{"x":1,"email":"ana+tag@example.com"}'],
    ['JSON that escapes', '{"email":"ana+tag\\u0040example.com"}'],
    ['the text of a form', 'name=x&email=ana%2Btag%40example.com&y=1'],
    ['a body that cannot be parsed', '{"email":"ana+tag@example.com'],
    ['the query of a page', { page: 'https://lp.example/?e=ana%2Btag%40example.com#x' }],
    ['an identity key', { held: { keys: ['email:ana+tag@example.com'] } }],
  ])('an email in %s', (_, value) => {
    expect(found(value)).toContain(EMAIL);
  });

  test.each([
    ['a field', { telephone: '+55 (11) 98765-4321' }],
    ['a national number', { whatsapp: '(11) 98765-4321' }],
    ['an old mobile', { phone: '11 8765-4321' }],
    ['an integer', { telephone: 5511987654321 }],
    ['a form', 'telephone=%2B55+%2811%29+98765-4321'],
    ['a sentence', { message: 'Me liga no 11 98765-4321, por favor' }],
    ['full-width digits', { telephone: '５５１１９８７６５４３２１' }],
    ['an identity key', ['phone:+5511987654321']],
  ])('a telephone in %s', (_, value) => {
    expect(found(value)).toContain(PHONE);
  });
});

test('what names nobody gives nothing', () => {
  expect(found({ name: 'Ana', city: 'São Paulo', n: 12, ok: true, none: null })).toEqual([]);
});

test('a text of the longest body is looked through in a moment', () => {
  const start = performance.now();
  found('1 '.repeat(32_000));
  found('a@'.repeat(32_000));
  found('%'.repeat(64_000));
  expect(performance.now() - start).toBeLessThan(2_000);
});
