/** The name nearest to what was typed, when it is near enough to be meant; null otherwise. */
export function nearName(typed: string, names: readonly string[]): string | null {
  const folded = fold(typed);
  const nearest = names
    .map((name) => ({ name, distance: distance(folded, fold(name)) }))
    .sort((a, b) => a.distance - b.distance)[0];
  if (nearest === undefined) return null;
  const isNear = nearest.distance <= Math.max(1, Math.floor(folded.length / 3));
  return isNear ? nearest.name : (names.find((name) => fold(name).startsWith(folded)) ?? null);
}

/** Case and accents aside. */
function fold(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().trim();
}

/** The edits (insert, delete, replace one character) from one text to the other (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
