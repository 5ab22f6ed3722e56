export type Random = ReturnType<typeof createRandom>;

/** Numbers that are the same again for the same seed. Mulberry32: 32 bits of state are plenty to choose faults with. */
export function createRandom(seed: number) {
  let state = seed >>> 0;
  /** From 0 up to 1, 1 excluded. */
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
  /** A whole number from 0 up to `limit`, `limit` excluded. */
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    between: (min: number, max: number) => min + next() * (max - min),
    chance: (probability: number) => next() < probability,
    pick: <T>(items: readonly [T, ...T[]]): T => items[below(items.length)] ?? items[0],
    shuffled: <T>(items: readonly T[]): T[] =>
      items
        .map((item) => ({ item, key: next() }))
        .sort((a, b) => a.key - b.key)
        .map(({ item }) => item),
  };
}
