import { useEffect, useState } from 'react';
import type { Answer } from './api.ts';

const MINUTE_MS = 60_000;
const SHOWN = 60;

export interface Flow {
  at: string;
  accepted: number;
  finished: number;
  /** At the end of the minute, worked back from what waits now. */
  waiting: number;
}

/** The last hour by minute: what came, what was finished, and what waited by that. */
export function flowOf(
  rows: Answer<'/api/queue/flow', 'get'>,
  waitingNow: number,
  now: number,
): Flow[] {
  const byMinute = new Map(rows.map((row) => [row.at, row]));
  const flow: Flow[] = [];
  let waiting = waitingNow;
  for (let ago = 0; ago < SHOWN; ago += 1) {
    const at = new Date(Math.floor(now / MINUTE_MS) * MINUTE_MS - ago * MINUTE_MS).toISOString();
    const { accepted = 0, finished = 0 } = byMinute.get(at) ?? {};
    flow.push({ at, accepted, finished, waiting });
    // What was replayed is counted in neither.
    waiting = Math.max(waiting - accepted + finished, 0);
  }
  return flow.toReversed();
}

interface Sample {
  at: number;
  waiting: number;
}

/** A trend is told from this long on, and of so long at most. */
const SHORTEST_MS = 6_000;
const LONGEST_MS = MINUTE_MS;

/** What waited in the last minute, as it was looked at. */
export function useSamples(waiting: number | undefined): readonly Sample[] {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useEffect(() => {
    if (waiting === undefined) return;
    const add = () =>
      setSamples((all) => [
        ...all.filter(({ at }) => at > Date.now() - LONGEST_MS),
        { at: Date.now(), waiting },
      ]);
    add();
    // The same number again is a sample too.
    const timer = setInterval(add, 2_000);
    return () => clearInterval(timer);
  }, [waiting]);
  return samples;
}

/** When the queue is empty if it goes on so. */
export function emptyIn(
  samples: readonly Sample[],
): { kind: 'in'; ms: number } | { kind: 'never' } | { kind: 'unknown' } {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || last.at - first.at < SHORTEST_MS)
    return { kind: 'unknown' };
  const perMs = (first.waiting - last.waiting) / (last.at - first.at);
  return perMs <= 0 ? { kind: 'never' } : { kind: 'in', ms: last.waiting / perMs };
}
