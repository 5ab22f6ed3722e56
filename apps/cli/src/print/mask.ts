/** A text of which only the first character and the shape are left: `a••@e••••••.c••`. */
export function maskText(text: string): string {
  return text.replace(/[\p{L}\p{N}]+/gu, (word) => {
    const [first = '', ...rest] = word;
    return rest.length === 0 ? '•' : `${first}${'•'.repeat(Math.min(rest.length, 8))}`;
  });
}
