import { parseArgs } from 'node:util';

/**
 * How much is measured. Everything is bounded in time: rounds, seconds and sizes, and no waiting
 * for a figure to settle.
 * @typedef {object} Plan
 * @property {boolean} quick
 * @property {string[]} stages
 * @property {string | null} profiles folder for CPU profiles of Leadgate's processes
 * @property {number} rounds
 * @property {number} seconds of load in a measurement
 * @property {number} warmSeconds before the first round, not counted
 * @property {number} connections of a load as large as is answered
 * @property {number} clients connections of a load at a rate: as many as people would have, so that one that
 *   waits holds up no other
 * @property {number} known people that the servers know before the first request
 * @property {{ noop: number, naive: number, leadgate: number }} jobs drained in a measurement
 * @property {{ steps: number, seconds: number }} search for the sustained rate
 * @property {{ seconds: number }} spike
 * @property {{ seconds: number }} burst each of its three parts
 * @property {{ rows: number }} import
 * @property {{ rows: number, taken: number }} uploads rows of a file that is only checked, of one that is taken
 * @property {{ leads: number[], waiting: number, identities: number, rounds: number }} size
 * @property {{ sends: number, burst: number, limitSeconds: number, idle: number }} deliveries sends in a
 *   measurement, leads that change at once, for how long a limit is watched, and posts with nothing else to do
 * @property {{ links: number, rounds: number }} series
 * @property {{ seconds: number }} soak at full rate, for the slope of memory
 */

const STAGES = [
  ...[
    'receivers',
    'workers',
    'end-to-end',
    'spike',
    'quiet',
    'burst',
    'import',
    'uploads',
    'size',
    'soak',
    'spool',
  ],
  ...['lts', 'mapping', 'deliveries', 'series', 'start', 'npm-start'],
];

/** Half of the bodies are of people that the servers know: this many of them. */
const KNOWN = 10_000;

/** @type {Omit<Plan, 'stages' | 'profiles'>} */
const FULL = {
  quick: false,
  rounds: 5,
  seconds: 10,
  warmSeconds: 4,
  connections: 100,
  clients: 400,
  known: KNOWN,
  jobs: { noop: 40_000, naive: 5_000, leadgate: 30_000 },
  search: { steps: 8, seconds: 12 },
  spike: { seconds: 30 },
  burst: { seconds: 20 },
  import: { rows: 100_000 },
  uploads: { rows: 400_000, taken: 20_000 },
  size: { leads: [1_000_000, 5_000_000], waiting: 1_000_000, identities: 5_000_000, rounds: 3 },
  series: { links: 10_000, rounds: 20 },
  deliveries: { sends: 10_000, burst: 5_000, limitSeconds: 60, idle: 100 },
  soak: { seconds: 600 },
};

/** @type {Omit<Plan, 'stages' | 'profiles'>} */
const QUICK = {
  quick: true,
  rounds: 3,
  seconds: 5,
  warmSeconds: 5,
  connections: 100,
  clients: 400,
  known: KNOWN,
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

const USAGE = `Usage: npm run bench -- [options]
  --quick              fewer and shorter rounds, smaller sizes
  --only=<stages>      some stages, parted by commas:
                       ${STAGES.slice(0, 9).join(', ')},
                       ${STAGES.slice(9).join(', ')}
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
    const stages = only?.split(',') ?? STAGES;
    const unknown = stages.find((stage) => !STAGES.includes(stage));
    if (unknown !== undefined) throw new TypeError(`There is no stage '${unknown}'.`);
    return { ...(quick ? QUICK : FULL), stages, profiles };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { status: 2, text: `${error.message}\n${USAGE}` };
  }
}
