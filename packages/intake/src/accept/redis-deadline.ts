/** Redis did not answer within the time a request may wait for it. */
export class RedisLate extends Error {
  override name = 'RedisLate';
  constructor() {
    super('Redis did not answer in time');
  }
}

/** Waits for an answer of Redis; rejects with RedisLate when the request's time is used up. */
export type WithinDeadline = <T>(answer: Promise<T>) => Promise<T>;

/** Node keeps a list of timers for each length: requests that differ by less share one. */
const STEP_MS = 10;

/**
 * One allowance of time for all that a request asks of Redis. Only waiting counts: the time a slow
 * sender takes for its body does not. An answer that comes too late is dropped, whatever it is.
 */
export function createRedisDeadline(allowanceMs: number): WithinDeadline {
  let leftMs = allowanceMs;
  return (answer) => {
    const start = performance.now();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        // After what has come in meanwhile: timers are first after the process stood still for a moment.
        () => setImmediate(() => reject(new RedisLate())),
        Math.ceil(leftMs / STEP_MS) * STEP_MS,
      );
      timer.unref();
      const settled = (): void => {
        clearTimeout(timer);
        leftMs -= performance.now() - start;
      };
      answer.then(
        (value) => {
          settled();
          resolve(value);
        },
        (error: unknown) => {
          settled();
          reject(error instanceof Error ? error : new Error('Redis failed'));
        },
      );
    });
  };
}
