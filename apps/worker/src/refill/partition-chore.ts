import type { Chore } from './caretaker.ts';

const EVERY_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** An attempt may hold the workers up for a moment: not one a second. */
const AGAIN_MS = 60_000;

/**
 * Makes the partitions of the months to come, and lets submissions go that are older than they are to
 * be kept: once an hour, and a minute after an attempt that failed.
 */
export function createPartitionChore({
  make,
  dropBefore,
  days,
  clock,
}: {
  make: (now: Date) => Promise<string[]>;
  dropBefore: (moment: Date) => Promise<{ partitions: string[]; rows: number }>;
  /** Undefined: submissions are kept for good. */
  days: number | undefined;
  clock: () => number;
}): Chore {
  let next = 0;
  return {
    name: 'partitions',
    async run() {
      const now = clock();
      if (now < next) return null;
      next = now + AGAIN_MS;
      const made = await make(new Date(now));
      const { partitions, rows } =
        days === undefined
          ? { partitions: [], rows: 0 }
          : await dropBefore(new Date(now - days * DAY_MS));
      next = now + EVERY_MS;
      return made.length + partitions.length + rows === 0
        ? null
        : { made, dropped: partitions, droppedRows: rows };
    },
  };
}
