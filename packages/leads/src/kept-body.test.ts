import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keptBody, parseBody } from './body.ts';
import { normalizeLead } from './lead.ts';

const long = 'x'.repeat(3_000);
const valueOf = (text: string, type: 'json' | 'form') => {
  const parsed = parseBody(text, type);
  if (parsed.kind !== 'parsed') throw new Error(parsed.kind);
  return parsed.value;
};
const keep = (text: string, type: 'json' | 'form' = 'json') =>
  keptBody({ text, type }, valueOf(text, type));
const read = (value: unknown, isForm = false) => {
  const options = { mode: 'lenient', today: '2026-11-28', country: 'BR', isForm } as const;
  return normalizeLead(value, { ...options, dummyPhones: [] });
};

test.each([
  [JSON.stringify({ email: 'a@x.example', a: long, b: long, c: long, d: 1 }), ['c']],
  [JSON.stringify({ a: long, address: { city: 'Recife', b: long, c: long } }), ['address.c']],
  [JSON.stringify({ a: long, 'address.b': long, 'address.city': 'X', c: long }), ['c']],
  [JSON.stringify({ __proto: 1, toString: long, constructor: long, hasOwnProperty: long }), []],
])('what is beyond 8 KiB of unknown keys goes, and nothing else', (text, gone) => {
  const kept = keep(text);
  const left = JSON.stringify(valueOf(kept.text, kept.type));
  for (const path of gone) expect(left).not.toContain(`"${path.split('.').at(-1)}"`);
  expect(kept.notes).toMatchObject([{ code: 'unknown-keys-dropped', detail: '1 of them' }]);
  expect(kept.text.length).toBeLessThan(8_600);
});

test('a body of fields and custom fields stays as it was sent, however long', () => {
  const fields = {
    name: long,
    customFields: { a: long, b: long, c: long },
    'customFields.d': long,
  };
  const text = ` ${JSON.stringify(fields)}`;
  expect(keep(text)).toEqual({ text, type: 'json', notes: [] });
  const form = `email=a%40x.example&customFields[a]=${long}&customFields%5Bb%5D=${long}&customFields.c=${long}`;
  expect(keep(form, 'form')).toMatchObject({ text: form, notes: [] });
});

test('of a form the pairs that fit stay as they were sent', () => {
  const form = `a=${long}&e-mail=1&b=${long}&c=${long}&email=a%40x.example&address[x]=${long}`;
  expect(keep(form, 'form').text).toBe(`a=${long}&e-mail=1&b=${long}&email=a%40x.example`);
});

const KEYS = ['email', 'name', 'address', 'consent', 'customFields', 'x', 'y', '__proto__', 'z.a'];
test('what is kept is read as the same lead', () => {
  const value = fc.oneof(fc.constant('Recife'), fc.constant(long), fc.integer(), fc.boolean());
  const inner = fc.dictionary(fc.constantFrom('city', 'given', 'k', 'l', 'm'), value);
  const body = fc.dictionary(fc.constantFrom(...KEYS), fc.oneof(value, inner));
  fc.assert(
    fc.property(body, (sent) => {
      const text = JSON.stringify(sent);
      const kept = keep(text);
      const [before, after] = [read(valueOf(text, 'json')), read(valueOf(kept.text, kept.type))];
      if (before.kind !== 'accepted' || after.kind !== 'accepted') throw new Error('refused');
      expect([after.lead, after.identities, after.consent]).toEqual([
        ...[before.lead, before.identities, before.consent],
      ]);
    }),
  );
});
