// Control characters (C0, DEL, C1), line and paragraph separators, bidi controls, lone surrogates,
// and tag characters: what can move a cursor, hide or reorder text, or drive a terminal.
const UNSHOWABLE =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

const SHORT: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * A text that may have come from anyone, as it may be written to a terminal: on one line, with
 * everything that could drive the terminal or deceive its reader spelled out (`\u{1b}`).
 */
export function showable(text: string): string {
  return text.replace(UNSHOWABLE, (character) => SHORT[character] ?? escaped(character));
}

/** Lines of a text, as a file has them, on a terminal: what `showable` spells out, but the ends of lines. */
export function showableLines(text: string): string {
  return text
    .split(/(\r?\n)/)
    .map((part, i) => (i % 2 === 1 ? part : showable(part)))
    .join('');
}

/** The body of a post under a heading, line by line. */
export const bodyText = (how: string, { body, bodyType }: { body: string; bodyType: string }) =>
  `Body as ${how} (${bodyType}):\n${body.split('\n').map(showable).join('\n')}\n`;

/** JSON with the same characters escaped. It parses to the same value. */
export function showableJson(json: string): string {
  return json.replace(UNSHOWABLE, (character) =>
    // The line breaks are those of the layout: within a text they are escaped already.
    character === '\n' ? character : jsonEscaped(character),
  );
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

function jsonEscaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
