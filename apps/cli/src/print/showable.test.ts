import fc from 'fast-check';
import { expect, test } from 'vitest';
import { showable, showableJson, showableLines } from './showable.ts';

const DRIVES_A_TERMINAL = /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

test('a text can neither drive the terminal nor leave its line', () => {
  expect(showable('Ana\u001b[2J\u0007')).toBe('Ana\\u{1b}[2J\\u{7}');
  expect(showable('\u009b31m')).toBe('\\u{9b}31m');
  expect(showable('a\nb\tc\rd')).toBe('a\\nb\\tc\\rd');
  expect(showable('evil\u202etxt.exe')).toBe('evil\\u{202e}txt.exe');
});

test('emoji, accents and right-to-left names are left as they are', () => {
  for (const text of ['João 👩‍👩‍👧', 'مرحبا', 'שלום', '日本語', 'नमस्ते'])
    expect(showable(text)).toBe(text);
});

test('no text drives the terminal, and JSON still parses to it', () => {
  const anything = fc.string({ unit: 'binary' });
  fc.assert(
    fc.property(anything, (text) => {
      expect(showable(text)).not.toMatch(DRIVES_A_TERMINAL);
      const json = showableJson(JSON.stringify({ [text]: [text] }, null, 2));
      expect(json.replaceAll('\n', '')).not.toMatch(DRIVES_A_TERMINAL);
      expect(Object.entries(JSON.parse(json) as object)).toEqual([[text, [text]]]);
      // A line of its own, as `tail --json` and exports write them.
      expect(showableJson(JSON.stringify({ text }))).not.toMatch(DRIVES_A_TERMINAL);
    }),
  );
});

test('lines of a file stay lines on a terminal, and drive nothing', () => {
  expect(showableLines('a,\u001b[2J\r\nb\rc,\u202ed\n')).toBe('a,\\u{1b}[2J\r\nb\\rc,\\u{202e}d\n');
});
