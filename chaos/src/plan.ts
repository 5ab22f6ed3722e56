import { FAULT_KINDS, type FaultKind } from './faults.ts';
import type { Random } from './random.ts';

export interface Fault {
  kind: FaultKind;
  /** When it begins, in milliseconds after the start. */
  atMs: number;
  /** How long it lasts, in milliseconds; of a rolling restart, until the last one is told to stop. */
  forMs: number;
  /** Which of several processes or endpoints, modulo their number, and how an endpoint is broken. */
  nth: number;
}

/**
 * The faults of a run: the same for the same seed. Every kind comes before any comes again. One in
 * ten lasts four times as long: longer than leases and patience.
 */
export function planFaults(
  random: Random,
  { lengthMs, everyMs }: { lengthMs: number; everyMs: number },
): Fault[] {
  const faults: Fault[] = [];
  let deck: FaultKind[] = [];
  for (let atMs = everyMs; atMs < lengthMs; atMs += random.between(0.2, 1.8) * everyMs) {
    if (deck.length === 0) deck = random.shuffled(FAULT_KINDS);
    const kind = deck.pop();
    if (kind === undefined) break;
    const forMs = random.between(0.2, 2) * everyMs * (random.chance(0.1) ? 4 : 1);
    faults.push({ kind, atMs, forMs, nth: random.below(1_000) });
  }
  return faults;
}
