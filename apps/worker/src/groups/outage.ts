/** Waits; rejects or resolves early when the signal is aborted. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<unknown>;

export interface Outage {
  /** Whether Postgres was away at the last try. */
  readonly away: boolean;
  /** Postgres was away just now: resolves true when it is time to try again, false when nobody will. */
  sitOut(): Promise<boolean>;
  /** Postgres answered. */
  over(): void;
}

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2_000;

/**
 * One outage for everybody who meets it: they wait together, twice as long after each failed try up
 * to two seconds, and `onChange` is told once when it begins and once when it is over.
 */
export function createOutage({
  onChange,
  wait,
  stopped,
}: {
  onChange: (away: boolean) => void;
  wait: Wait;
  stopped: AbortSignal;
}): Outage {
  let away = false;
  let waitMs = FIRST_WAIT_MS;
  let waiting: Promise<unknown> | null = null;

  return {
    get away() {
      return away;
    },
    async sitOut() {
      if (!away) {
        away = true;
        onChange(true);
      }
      if (stopped.aborted) return false;
      if (waiting === null) {
        waiting = wait(waitMs, stopped)
          .catch(() => {})
          .finally(() => (waiting = null));
        waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
      }
      await waiting;
      return !stopped.aborted;
    },
    over() {
      waitMs = FIRST_WAIT_MS;
      if (!away) return;
      away = false;
      onChange(false);
    },
  };
}
