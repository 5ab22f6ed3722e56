import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  BIDI_OVERRIDES,
  INVISIBLE,
  cleanText,
  customFieldKey,
  cutText,
  normalized,
} from './reading.ts';

test('two ways to write an accent become one', () => {
  expect(cleanText('Joa\u0303o')).toBe('João');
});

test.each(['\u0301\u0323', '\uff9e\u0301'])(
  'marks without end on one letter take a time in proportion to them: %j',
  (marks) => {
    const text = `Jo${marks.repeat(300_000)}`;
    for (const form of ['NFC', 'NFD', 'NFKD'] as const)
      expect(normalized(text, form).length).toBeLessThan(40);
    expect(cleanText(`${text}ana`)).toMatch(/ana$/);
    expect(customFieldKey(text).length).toBeLessThan(40);
  },
);

test('a long text with marks as people write them keeps each', () => {
  const text = 'Thi\u0302\u0301t Việt e\u0301 ก็้ '.repeat(50);
  for (const form of ['NFC', 'NFD', 'NFKD'] as const)
    expect(normalized(text, form)).toBe(text.normalize(form));
});

test('white space of any script is trimmed, and kept inside', () => {
  expect(cleanText('\u00a0\u3000 Ana\tSouza\n\ufeff')).toBe('Ana\tSouza');
});

test('control characters go, NUL above all, and tab and newline stay', () => {
  expect(cleanText('a\0b\u0007c\td\r\ne\u001b\u007f\u0085é')).toBe('abc\td\neé');
});

test('each half of a surrogate pair alone becomes U+FFFD, and a pair stays', () => {
  expect(cleanText('\udf38a\ud83d🌸')).toBe('\ufffda\ufffd🌸');
});

test('a text with nothing to see is empty', () => {
  for (const text of ['', ' ', '\u200b', '\u2060 \u00ad', '\u3164', '\ufe0f', '\0'])
    expect(cleanText(text)).toBe('');
});

test('invisible characters are removed where asked, and joiners of emoji kept elsewhere', () => {
  expect(cleanText('a\u200bn\u00ada\u202e@x\ufeff.com', INVISIBLE)).toBe('ana@x.com');
  expect(cleanText('👩\u200d👧')).toBe('👩\u200d👧');
});

test('a name cannot be turned around, and right-to-left marks stay', () => {
  expect(cleanText('Ana\u202egpj.exe\u2069', BIDI_OVERRIDES)).toBe('Anagpj.exe');
  expect(cleanText('\u05e9\u05dc\u200f\u05dd', BIDI_OVERRIDES)).toBe('\u05e9\u05dc\u200f\u05dd');
});

test('a cut counts code points', () => {
  expect(cutText('a🌸b', 2)).toBe('a🌸');
  expect(cutText('a🌸b', 3)).toBe('a🌸b');
  expect(cutText('abc', 2)).toBe('ab');
});

test('a hostile text takes no time that grows with the square of its length', () => {
  for (const unit of [' ', '\u00a0', '\u200b', '\0', '\ud83d', 'e\u0301', '\u202e'])
    expect(cleanText(`é${unit.repeat(1_000_000)}x`, INVISIBLE)).toMatch(/^é.*x$/su);
});

test('case, the form of an accent and surrounding space make no difference', () => {
  const key = customFieldKey('Profissão');
  for (const same of [' PROFISSÃO ', 'profissa\u0303o', 'PROFISSA\u0303O\n', '\u00a0profissão'])
    expect(customFieldKey(same)).toBe(key);
  expect(customFieldKey('Profissao')).not.toBe(key);
  expect(customFieldKey('Straße')).toBe(customFieldKey('STRASSE'));
  expect(customFieldKey('ΟΔΟΣ')).toBe(customFieldKey('οδος'));
});

test('a key of a key is that key, and upper case has the key of the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const key = customFieldKey(text);
      expect(customFieldKey(key)).toBe(key);
      expect(customFieldKey(text.toUpperCase())).toBe(key);
    }),
    { numRuns: 1000 },
  );
});

test('a text of European letters is what it is beside a letter of another script', () => {
  const letter = fc.integer({ min: 0x20, max: 0x17f }).map((code) => String.fromCharCode(code));
  fc.assert(
    fc.property(
      fc.string({ unit: letter }),
      fc.constantFrom(undefined, INVISIBLE),
      (text, drop) => {
        // With the other script it is cleaned step by step.
        const cleaned = cleanText(`${text}漢`, drop).slice(0, -1).trim();
        expect(cleanText(text, drop)).toBe(/[^\u00ad]/.test(cleaned) ? cleaned : '');
      },
    ),
  );
});
