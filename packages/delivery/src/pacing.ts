const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;

/** The first wait; each later one is twice as long, up to a day. */
const FIRST_WAIT_MS = 5_000;
/** An endpoint that fails is looked at this often at least: it may be well again. */
const LONGEST_PAUSE_MS = 900_000;
/** Failures without a success between them after which an endpoint is only probed. */
const FAILURES_BEFORE_PAUSE = 5;

/** How long an endpoint may fail without one success before it is disabled. */
export const DISABLED_AFTER_MS = 3 * DAY_MS;

/**
 * How long to wait after so many failures of one delivery: exponential, up to a day, and between half and
 * the whole of it by chance, so that what failed together does not come back together. `random`: 0 to 1.
 */
export function backoffMs(failures: number, random: number): number {
  return jittered(FIRST_WAIT_MS * 2 ** Math.min(failures - 1, 20), DAY_MS, random);
}

/**
 * How long an endpoint is left alone after so many failures in a row: not at all for a few, then until
 * one delivery has probed it.
 */
export function pauseMs(failures: number, random: number): number {
  const over = failures - FAILURES_BEFORE_PAUSE;
  if (over < 0) return 0;
  return jittered(FIRST_WAIT_MS * 2 ** Math.min(over, 20), LONGEST_PAUSE_MS, random);
}

const jittered = (ms: number, most: number, random: number): number =>
  Math.round(Math.min(ms, most) * (0.5 + random / 2));

/**
 * The milliseconds of a `Retry-After` (RFC 9110: seconds, or a date), a day at most; null if there is none
 * that can be read.
 */
export function readRetryAfter(value: string | null, now: number): number | null {
  if (value === null) return null;
  const text = value.trim();
  const ms = /^\d{1,10}$/.test(text)
    ? Number(text) * SECOND_MS
    : /^[A-Z][a-z]{2}, /.test(text)
      ? Date.parse(text) - now
      : Number.NaN;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), DAY_MS);
}

/**
 * Holds sends to so many in any second, as the endpoint sees it. A send reaches the endpoint at some time
 * between its start and its answer, so its place is free again a second after the answer: no second of
 * any clock has more.
 */
export class RateWindow {
  #perSecond = Number.POSITIVE_INFINITY;
  #underWay = 0;
  /** When places come free. Milliseconds, rising. */
  #free: number[] = [];

  /** `perSecond`: whole sends, or a part of one (0.5: one in two seconds). Null: as many as may be. */
  constructor(perSecond: number | null) {
    this.setRate(perSecond);
  }

  /** Another rate from now on: what was sent before counts. */
  setRate(perSecond: number | null): void {
    this.#perSecond = perSecond ?? Number.POSITIVE_INFINITY;
  }

  /** How many sends may start now. */
  places(now: number): number {
    const taken = this.#free.findIndex((at) => at > now);
    this.#free = taken === -1 ? [] : this.#free.slice(taken);
    return Math.max(
      Math.floor(Math.max(this.#perSecond, 1)) - this.#underWay - this.#free.length,
      0,
    );
  }

  /** When the next place comes free by itself; null if that waits for an answer, or one is free. */
  nextAt(now: number): number | null {
    return this.places(now) > 0 ? null : (this.#free[0] ?? null);
  }

  start(): void {
    this.#underWay += 1;
  }

  answered(now: number): void {
    this.#underWay -= 1;
    if (this.#perSecond === Number.POSITIVE_INFINITY) return;
    this.#free.push(now + Math.max(SECOND_MS, SECOND_MS / this.#perSecond));
  }
}
