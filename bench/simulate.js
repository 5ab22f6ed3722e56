/**
 * What a queue does under a given arrival, by arithmetic: everything that arrives is taken, and it is
 * worked off at the workers' rate, first come first served. docs/scale.md has worked examples, and what
 * the model says beside a measured run.
 *
 * @typedef {object} Phase
 * @property {number} seconds
 * @property {number} arrivals leads a second, all through the phase
 * @property {number} workedOff leads a second that the workers can do in this phase
 *
 * @typedef {object} Prediction
 * @property {number} longest leads that wait at most
 * @property {number} oldestSeconds how long the one waits that waits longest
 * @property {number} emptyAfterSeconds from the end of the last phase, at its workers' rate; Infinity
 *   when they do nothing
 */

/**
 * @param {readonly Phase[]} phases
 * @param {{ stepSeconds?: number }} [options] how finely time is cut
 * @returns {Prediction}
 */
export function simulate(phases, { stepSeconds = 0.05 } = {}) {
  let waiting = 0;
  let longest = 0;
  let oldestSeconds = 0;
  let now = 0;
  /** What arrived and is not done: when, and how much of it is left. @type {{ at: number, left: number }[]} */
  const line = [];
  let head = 0;
  for (const { seconds, arrivals, workedOff } of phases) {
    const steps = Math.round(seconds / stepSeconds);
    for (let step = 0; step < steps; step++) {
      now += stepSeconds;
      if (arrivals > 0) line.push({ at: now, left: arrivals * stepSeconds });
      waiting += arrivals * stepSeconds;
      let can = workedOff * stepSeconds;
      for (let first = line[head]; first !== undefined && can > 0; first = line[head]) {
        const done = Math.min(can, first.left);
        first.left -= done;
        can -= done;
        waiting -= done;
        if (first.left > 0) break;
        head += 1;
      }
      longest = Math.max(longest, waiting);
      const first = line[head];
      if (first !== undefined) oldestSeconds = Math.max(oldestSeconds, now - first.at);
    }
  }
  const rate = phases.at(-1)?.workedOff ?? 0;
  return { longest, oldestSeconds, emptyAfterSeconds: waiting < 1 ? 0 : waiting / rate };
}
