import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readEmail } from './identity.ts';

test.each([
  ['Ana@Example.COM', 'ana@example.com'],
  [' ana.maria+ads@sub.example.com.br ', 'ana.maria+ads@sub.example.com.br'],
  ['a\u200bna@exam\u00adple.com\ufeff', 'ana@example.com'],
  ['joão@exemplo.com.br', 'joão@exemplo.com.br'],
  ["o'hara_1@x.co", "o'hara_1@x.co"],
])('%j is kept as %j', (sent, kept) => {
  expect(readEmail(sent)).toBe(kept);
});

test.each([
  'ana',
  'ana@',
  '@example.com',
  'ana@localhost',
  'ana@@example.com',
  'ana@example..com',
  'ana@.com',
  'ana maria@example.com',
  'ana@exam ple.com',
  'ana@example.com,bia@example.com',
  'ana@example.com; bia',
  'http://ana@example.com',
  'ana:x@example.com',
  'ana@example.com?x=1',
  'ana@example.com/x',
  'ana@exam%ple.com',
])('%j is refused, for a message to it would not arrive', (sent) => {
  expect(readEmail(sent)).toMatchObject({ code: 'not-an-email' });
});

test('254 characters are accepted and 255 are not, in lower case', () => {
  const domain = '@example.com';
  expect(readEmail('a'.repeat(254 - domain.length) + domain)).toHaveLength(254);
  expect(readEmail('a'.repeat(255 - domain.length) + domain)).toMatchObject({ code: 'too-long' });
  expect(readEmail('İ'.repeat(200) + domain)).toMatchObject({ code: 'too-long' });
});

test('a number is no email', () => {
  expect(readEmail(1)).toMatchObject({ code: 'not-text' });
});

test.each([
  'mailto:ana@example.com',
  'MAILTO:Ana@example.com?subject=Oi',
  'Ana Souza <ana@example.com>',
  '<mailto:ana@example.com>',
  '"ana@example.com"',
  '\u201cana@example.com\u201d',
  '(ana@example.com)',
  'ana@example.com.',
  'ana@example.com,',
  'ana@example.com; ',
  'E-mail: ana@example.com',
  'mailto://ana@example.com',
  'ana@example.com (Ana)',
  'ana@example.com/',
  'ana@example.com!',
  '«ana@example.com»',
  'ana＠example.com',
])('%j is the address within it', (sent) => {
  expect(readEmail(sent)).toBe('ana@example.com');
});

test('a domain in Unicode and in Punycode is one', () => {
  expect(readEmail('ana@S\u00e3oPaulo.example')).toBe('ana@xn--sopaulo-xwa.example');
  expect(readEmail('ana@xn--sopaulo-xwa.example')).toBe('ana@xn--sopaulo-xwa.example');
  expect(readEmail('ana@bu\u0308cher.example')).toBe(readEmail('ana@b\u00fccher.example'));
});

test('an address of plain characters is what it is with something around it', () => {
  const part = fc.string({
    unit: fc.constantFrom(...'ae1-_.+'),
    minLength: 1,
    maxLength: 12,
  });
  fc.assert(
    fc.property(part, part, part, (local, domain, top) => {
      const address = `${local}@${domain}.${top}`;
      const read = readEmail(address);
      if (typeof read === 'string') expect(readEmail(`"<${address}>"`)).toBe(read);
      else expect(readEmail(`<${address}>`)).toEqual(read);
    }),
  );
});
