import { parseArgs } from 'node:util';
import { STAGES } from './stages.js';

/** @typedef {import('./stages.js').StageName} StageName */

/**
 * How much is measured. Everything is bounded in time: rounds, seconds and sizes, and no waiting
 * for a figure to settle. `profiles`: folder for CPU profiles of Leadgate's processes.
 * @typedef {typeof FULL & { stages: StageName[], profiles: string | null }} Plan
 */

const FULL = {
  quick: false,
  rounds: 5,
  /** Of load in a measurement. */
  seconds: 10,
  /** Before the first round, not counted. */
  warmSeconds: 4,
  /** Of a load as large as is answered. */
  connections: 100,
  /** Connections of a load at a rate: as many as people would have, so that one that waits holds up no other. */
  clients: 400,
  /** People that the servers know before the first request: half of the bodies are of them. */
  known: 10_000,
  /** Drained in a measurement. */
  jobs: { noop: 40_000, naive: 5_000, leadgate: 30_000 },
  /** For the sustained rate. */
  search: { steps: 8, seconds: 12 },
  spike: { seconds: 30 },
  /** Each of its three parts. */
  burst: { seconds: 20 },
  import: { rows: 100_000 },
  /** Rows of a file that is only checked, of one that is taken. */
  uploads: { rows: 400_000, taken: 20_000 },
  size: { leads: [1_000_000, 5_000_000], waiting: 1_000_000, identities: 5_000_000, rounds: 3 },
  series: { links: 10_000, rounds: 20 },
  /** Sends in a measurement, leads that change at once, for how long a limit is watched, and posts with nothing else to do. */
  deliveries: { sends: 10_000, burst: 5_000, limitSeconds: 60, idle: 100 },
  /** At full rate, for the slope of memory. */
  soak: { seconds: 600 },
};

/** @type {typeof FULL} */
const QUICK = {
  ...FULL,
  quick: true,
  rounds: 3,
  seconds: 5,
  warmSeconds: 5,
  jobs: { noop: 15_000, naive: 2_000, leadgate: 12_000 },
  search: { steps: 5, seconds: 6 },
  spike: { seconds: 10 },
  burst: { seconds: 8 },
  import: { rows: 10_000 },
  uploads: { rows: 40_000, taken: 5_000 },
  size: { leads: [100_000], waiting: 50_000, identities: 200_000, rounds: 2 },
  series: { links: 500, rounds: 8 },
  deliveries: { sends: 5_000, burst: 5_000, limitSeconds: 15, idle: 30 },
  soak: { seconds: 20 },
};

const NAMES = /** @type {StageName[]} */ (Object.keys(STAGES));

const USAGE = `Usage: npm run bench -- [options]
  --quick              fewer and shorter rounds, smaller sizes
  --only=<stages>      some stages, parted by commas:
                       ${NAMES.slice(0, 9).join(', ')},
                       ${NAMES.slice(9).join(', ')}
  --profiles=<folder>  keep CPU profiles of Leadgate's processes there
`;

/**
 * Reads the command line: what is to be measured, or what is said instead and the status to end with.
 * @param {readonly string[]} args
 * @returns {Plan | { status: 0 | 2, text: string }}
 */
export function readPlan(args) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        ...{ quick: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
        ...{ only: { type: 'string' }, profiles: { type: 'string' } },
      },
    });
    const { quick = false, help = false, only, profiles = null } = values;
    if (help) return { status: 0, text: USAGE };
    const asked = only?.split(',') ?? NAMES;
    const unknown = asked.find((stage) => !(stage in STAGES));
    if (unknown !== undefined) throw new TypeError(`There is no stage '${unknown}'.`);
    const stages = NAMES.filter((stage) => asked.includes(stage));
    return { ...(quick ? QUICK : FULL), stages, profiles };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { status: 2, text: `${error.message}\n${USAGE}` };
  }
}
