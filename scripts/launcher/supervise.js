import { setTimeout as delay } from 'node:timers/promises';
import { say } from '../prepare.js';

/** @typedef {import('../servers/process.js').RunningProcess} RunningProcess */

/**
 * Something that runs and can be stopped.
 * @typedef {{ process: RunningProcess, stop: (timeoutMs: number) => Promise<boolean> }} Running
 */

/** The wait before the first restart; doubled for every one that follows soon. */
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;
/** One that ran this long is well again. */
const WELL_AFTER_MS = 60_000;

/**
 * Starts something, and again whenever it ends by itself, with growing waits. The first start is not
 * tried again: it throws.
 * @param {string} name
 * @param {() => Promise<Running>} start
 * @param {AbortSignal} stopping from then on, an end is no surprise
 * @returns {Promise<{ stop: (timeoutMs: number) => Promise<boolean> }>} stop tells whether it stopped
 *   by itself in time
 */
export async function supervise(name, start, stopping) {
  let running = await start();
  const end = new AbortController();
  const isOver = () => stopping.aborted || end.signal.aborted;
  const watching = watch();
  return {
    stop: async (timeoutMs) => {
      end.abort();
      const stopped = await running.stop(timeoutMs);
      await watching;
      return stopped;
    },
  };

  async function watch() {
    let wait = FIRST_WAIT_MS;
    while (!isOver()) {
      const since = Date.now();
      const { code, signal } = await running.process.exited;
      if (isOver()) return;
      if (Date.now() - since > WELL_AFTER_MS) wait = FIRST_WAIT_MS;
      say(`${name} ended (${signal ?? `status ${String(code)}`}); starting it again`);
      wait = await startAgain(wait);
    }
  }

  /** @param {number} wait */
  async function startAgain(wait) {
    for (;;) {
      await delay(wait, undefined, { signal: AbortSignal.any([stopping, end.signal]) }).catch(
        () => undefined,
      );
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
      if (isOver()) return wait;
      try {
        running = await start();
        if (isOver()) await running.stop(2000);
        return wait;
      } catch (error) {
        say(`${name} did not start: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
}
