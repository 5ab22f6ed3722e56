/** Far deeper than any lead, and far from the end of the stack, which 64 KiB of `[` would reach. */
const DEEPEST = 64;

/**
 * A parsed body as JSON in which the keys of objects stand in order: equal bodies have equal texts,
 * however they were written. Null if it is too deep to be a lead.
 */
export function canonicalJson(value: unknown, depth = 0): string | null {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (depth === DEEPEST) return null;
  const parts: string[] = [];
  if (Array.isArray(value)) {
    for (const item of value) {
      const part = canonicalJson(item, depth + 1);
      if (part === null) return null;
      parts.push(part);
    }
    return `[${parts.join()}]`;
  }
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [key, inner] of entries) {
    const part = canonicalJson(inner, depth + 1);
    if (part === null) return null;
    parts.push(`${JSON.stringify(key)}:${part}`);
  }
  return `{${parts.join()}}`;
}
