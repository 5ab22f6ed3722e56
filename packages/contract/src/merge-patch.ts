/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const isObject = (value: unknown): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const has = (object: object, key: string): boolean => Object.hasOwn(object, key);

/**
 * The JSON Merge Patch (RFC 7396) that turns `from` into `to`. `to` must hold no null: a merge
 * patch cannot say it.
 */
export function diffMergePatch(
  from: Json | undefined,
  to: { [key: string]: Json },
): { [key: string]: Json } {
  const source = isObject(from) ? from : {};
  const patch: { [key: string]: Json } = Object.create(null) as { [key: string]: Json };
  for (const key of Object.keys(source)) if (!has(to, key)) patch[key] = null;
  for (const [key, value] of Object.entries(to)) {
    const old = has(source, key) ? source[key] : undefined;
    if (isObject(value)) {
      const inner = diffMergePatch(old, value);
      if (!isObject(old) || Object.keys(inner).length > 0) patch[key] = inner;
    } else if (!equal(old, value)) patch[key] = value;
  }
  return patch;
}

/** Applies a JSON Merge Patch (RFC 7396). Neither argument is changed. */
export function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: { [key: string]: Json } = Object.create(null) as { [key: string]: Json };
  if (isObject(target)) for (const [key, value] of Object.entries(target)) result[key] = value;
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = applyMergePatch(result[key], value);
  }
  return result;
}

function equal(a: Json | undefined, b: Json): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b;
  return a.length === b.length && a.every((item, i) => equal(item, b[i] as Json));
}
