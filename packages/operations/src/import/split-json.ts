/** Characters of one value: a posted body may have as many. */
const LONGEST = 64 * 1024;

/**
 * The elements of a JSON array, each as its text, as the array comes in. Only where an element ends
 * is looked for (strings, brackets); whether it is JSON its parser says. Text after the array is
 * ignored. An element that is too long comes cut, and cannot be parsed then.
 */
export async function* splitArray(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let element = '';
  let depth = 0;
  let inString = false;
  let escaped = false;
  let opened = false;
  for await (const chunk of chunks) {
    let start = 0;
    const take = (end: number): void => {
      const room = LONGEST + 1 - element.length;
      if (room > 0) element += chunk.slice(start, Math.min(end, start + room));
      start = end;
    };
    for (let i = 0; i < chunk.length; i += 1) {
      const character = chunk[i];
      if (!opened) {
        opened = character === '[';
        start = i + 1;
      } else if (escaped) escaped = false;
      else if (inString) {
        if (character === '\\') escaped = true;
        else if (character === '"') inString = false;
      } else if (character === '"') inString = true;
      else if (character === '{' || character === '[') depth += 1;
      else if (character === '}' || character === ']') {
        if (depth === 0) {
          take(i);
          if (element.trim() !== '') yield element.trim();
          return;
        }
        depth -= 1;
      } else if (character === ',' && depth === 0) {
        take(i);
        yield element.trim();
        element = '';
        start = i + 1;
      }
    }
    take(chunk.length);
  }
  if (element.trim() !== '') yield element.trim();
}

/** The lines of a text that are not blank, with their numbers from 1. One that is too long comes cut. */
export async function* splitLines(
  chunks: AsyncIterable<string>,
): AsyncGenerator<{ number: number; text: string }> {
  let rest = '';
  let number = 0;
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n');
    rest = (lines.pop() ?? '').slice(0, LONGEST + 1);
    for (const line of lines) {
      number += 1;
      if (line.trim() !== '') yield { number, text: line.trim().slice(0, LONGEST + 1) };
    }
  }
  if (rest.trim() !== '') yield { number: number + 1, text: rest.trim() };
}
