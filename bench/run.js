import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { prepare } from '../scripts/prepare.js';
import { runMain } from '../scripts/run-main.js';
import { rounded } from './figures.js';
import { readPlan } from './plan.js';
import { here } from './processes.js';
import { STAGES } from './stages.js';

/** @typedef {import('./stages/bench.js').Bench} Bench */
/** @typedef {import('./stages/bench.js').Figures} Figures */

/** Stages that ratios compare: they are taken from one run, never from two. */
const COMPARED = /** @type {const} */ (['receivers', 'workers', 'end-to-end']);

const say = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);

const plan = readPlan(process.argv.slice(2));
if ('status' in plan) {
  const output = plan.status === 0 ? process.stdout : process.stderr;
  output.write(plan.text);
  process.exit(plan.status);
}
// What was started is ended when this process exits.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));

await runMain(async () => {
  await prepare();
  // Packages are there, and built, only now.
  const { startServers, logical, query } = await import('./servers.js');
  const servers = await startServers();
  const started = performance.now();
  try {
    const version = await query(servers.postgres.url, 'SHOW server_version');
    const machine = {
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      memoryGiB: totalmem() / 2 ** 30,
      node: process.version,
      postgres: String(version.rows[0]?.server_version),
    };
    say(
      `Leadgate's benchmark${plan.quick ? ', quick: fewer and shorter rounds, smaller sizes' : ''}, on ` +
        `${machine.cores.toString()} cores of ${machine.cpu}, Node ${machine.node}, Postgres ${machine.postgres}.\n` +
        'Load, services and servers share these cores, and nothing is pinned.',
    );
    /** @type {Bench} */
    const bench = {
      ...{ plan, servers, say },
      leadgate: {
        redisUrl: logical(servers.redis.url, 0),
        database: await servers.database('leadgate_bench', plan.known),
      },
      naive: {
        redisUrl: logical(servers.redis.url, 1),
        database: await servers.database('naive_bench', plan.known),
      },
    };
    const figures = await measure(bench);
    const ratios = rounded(ratiosOf(figures));
    const cpuRatios = rounded(cpuRatiosOf(figures));
    const file = writeResults({
      ...(COMPARED.every((stage) => plan.stages.includes(stage)) && { ratios, cpuRatios }),
      ...Object.fromEntries(
        Object.entries(figures).map(([stage, figure]) => [
          stage,
          rounded({ at: new Date().toISOString(), quick: plan.quick, machine, ...figure }),
        ]),
      ),
    });
    say(`\nratios of throughput ${JSON.stringify(ratios, null, 2)}`);
    say(`ratios of CPU a lead ${JSON.stringify(cpuRatios, null, 2)}`);
    say(
      `${((performance.now() - started) / 60_000).toFixed(1)} minutes; all figures are in ${file}`,
    );
  } catch (error) {
    say(`the services' log ends with:\n${servers.endOfLog()}`);
    throw error;
  } finally {
    await servers.stop();
  }
});
// What failed half-way may have left connections open.
process.exit();

/**
 * Puts what was measured in the place of what is there: a run of some stages leaves the others, and
 * each says when and where it was measured. Returns the file.
 * @param {object} measured
 */
function writeResults(measured) {
  const file = here('results/latest.json');
  mkdirSync(here('results'), { recursive: true });
  /** @type {object} */
  const before = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  writeFileSync(file, `${JSON.stringify({ ...before, ...measured }, null, 2)}\n`);
  return file;
}

/**
 * Those that were asked for, one after the other: each is told what those before it have measured.
 * @param {Bench} bench
 */
async function measure(bench) {
  /** @type {Figures} */
  const figures = {};
  for (const name of bench.plan.stages) {
    say(`\n${name}`);
    const stage = await STAGES[name]();
    const key = name.replaceAll(/-(.)/g, (_, letter) => letter.toUpperCase());
    Object.assign(figures, { [key]: await stage.measure(bench, figures) });
  }
  return figures;
}

/**
 * Of medians; undefined if a stage was left out.
 * @param {Figures} figures
 */
function ratiosOf({ receivers, workers, endToEnd }) {
  const receiver = receivers?.leadgate.leadsPerSecond.median;
  const worker = workers?.leadgate.leadsPerSecond.median;
  return {
    receiverToNaiveQueue: over(receiver, receivers?.naiveQueue.leadsPerSecond.median),
    receiverToEcho: over(receiver, receivers?.echo.leadsPerSecond.median),
    receiverToSync: over(receiver, receivers?.synchronous.leadsPerSecond.median),
    workerToNoop: over(worker, workers?.noop.leadsPerSecond.median),
    workerToNaive: over(worker, workers?.naive.leadsPerSecond.median),
    endToEndToSync: over(endToEnd?.leadsPerSecond, receivers?.synchronous.leadsPerSecond.median),
  };
}

/**
 * CPU a lead of what is compared with, divided by Leadgate's: other work on the machine touches these
 * less. And the whole way's, as a part of the synchronous service's.
 * @param {Figures} figures
 */
function cpuRatiosOf({ receivers, workers, endToEnd }) {
  const receiver = receivers?.leadgate.cpuMicrosPerLead.median;
  const worker = workers?.leadgate.cpuMicrosPerLead.median;
  return {
    receiverToNaiveQueue: over(receivers?.naiveQueue.cpuMicrosPerLead.median, receiver),
    receiverToEcho: over(receivers?.echo.cpuMicrosPerLead.median, receiver),
    receiverToSync: over(receivers?.synchronous.cpuMicrosPerLead.median, receiver),
    workerToNoop: over(workers?.noop.cpuMicrosPerLead.median, worker),
    workerToNaive: over(workers?.naive.cpuMicrosPerLead.median, worker),
    endToEndPartOfSync: over(
      endToEnd?.cpuMicrosPerLead ?? undefined,
      receivers?.synchronous.cpuMicrosPerLead.median,
    ),
  };
}

/**
 * @param {number | undefined} a
 * @param {number | undefined} b
 */
function over(a, b) {
  return a === undefined || b === undefined ? undefined : a / b;
}
