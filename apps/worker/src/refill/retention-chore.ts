import type { Chore } from './caretaker.ts';

const EVERY_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Lets refused bodies go that are older than they are to be kept, once an hour. */
export function createRetentionChore(
  dropBefore: (moment: Date) => Promise<number>,
  { days, clock }: { days: number; clock: () => number },
): Chore {
  let next = 0;
  return {
    name: 'let old refused bodies go',
    async run() {
      if (clock() < next) return null;
      const dropped = await dropBefore(new Date(clock() - days * DAY_MS));
      next = clock() + EVERY_MS;
      return dropped === 0 ? null : { dropped };
    },
  };
}
