/** Counts by name since the last look. */
export interface Tally {
  count: (name: string) => void;
  /** The counts, which start again from nothing. */
  take: () => Record<string, number>;
}

export function createTally(): Tally {
  let counts = new Map<string, number>();
  return {
    count: (name) => void counts.set(name, (counts.get(name) ?? 0) + 1),
    take() {
      const taken = Object.fromEntries(counts);
      counts = new Map();
      return taken;
    },
  };
}
