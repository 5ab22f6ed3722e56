// With the flag u, a surrogate matches only where its other half is missing.
const UNSTORABLE = /[\0\p{Surrogate}]/u;

/**
 * A text as Postgres can hold it, in a text column or in jsonb: NUL goes, half a surrogate pair
 * becomes U+FFFD.
 */
function cleanText(text: string): string {
  return UNSTORABLE.test(text)
    ? text.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\uFFFD')
    : text;
}

/**
 * Every text of a JSON value cleaned, keys of objects included. The shape stays, and what holds nothing
 * to clean is not copied: almost all is.
 */
export function storableTexts<T>(value: T): T {
  return cleanValue(value) as T;
}

function cleanValue(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(cleanValue);
    return items.every((item, i) => item === value[i]) ? value : items;
  }
  let isClean = true;
  const entries = Object.entries(value).map(([key, item]): [string, unknown] => {
    const entry: [string, unknown] = [cleanText(key), cleanValue(item)];
    isClean &&= entry[0] === key && entry[1] === item;
    return entry;
  });
  return isClean ? value : Object.fromEntries(entries);
}
