import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { prepare } from '../scripts/prepare.js';
import { runMain } from '../scripts/run-main.js';
import { rounded } from './figures.js';
import { readPlan } from './plan.js';
import { here } from './processes.js';

/** @typedef {import('./stages/bench.js').Bench} Bench */

/** Stages that ratios compare: they are taken from one run, never from two. */
const COMPARED = ['receivers', 'workers', 'end-to-end'];

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
        Object.entries(figures)
          .filter(([, figure]) => figure !== undefined)
          .map(([stage, figure]) => [
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

/** @param {Bench} bench */
async function measure(bench) {
  const { plan } = bench;
  const { measureReceivers } = await import('./stages/receivers.js');
  const { measureWorkers } = await import('./stages/workers.js');
  const { measureEndToEnd } = await import('./stages/end-to-end.js');
  const { measureSpike } = await import('./stages/spike.js');
  const { measureQuiet } = await import('./stages/quiet.js');
  const { measureBurst } = await import('./stages/burst.js');
  const { measureImport } = await import('./stages/import.js');
  const { measureUploads } = await import('./stages/uploads.js');
  const { measureSize } = await import('./stages/size.js');
  const { measureSoak } = await import('./stages/soak.js');
  const { measureLts } = await import('./stages/lts.js');
  const { measureSpool } = await import('./stages/spool.js');
  const { measureMapping } = await import('./stages/mapping.js');
  const { measureDeliveries } = await import('./stages/deliveries.js');
  const { measureSeries } = await import('./stages/series.js');
  const { measureStart } = await import('./stages/start.js');
  const { measureNpmStart } = await import('./stages/npm-start.js');
  /**
   * @template T
   * @param {string} name
   * @param {() => Promise<T>} run
   * @returns {Promise<T | undefined>}
   */
  const stage = async (name, run) => {
    if (!plan.stages.includes(name)) return undefined;
    say(`\n${name}`);
    return run();
  };
  const receivers = await stage('receivers', () => measureReceivers(bench));
  const workers = await stage('workers', () => measureWorkers(bench));
  // Without the stages before, a guess that leaves room.
  const top = receivers?.leadgate.leadsPerSecond.median ?? 4_000;
  const endToEnd = await stage('end-to-end', () => measureEndToEnd(bench, { atMost: top }));
  const sustained = endToEnd?.leadsPerSecond ?? top / 3;
  const spike = await stage('spike', () => measureSpike(bench, { top, sustained }));
  const quiet = await stage('quiet', () => measureQuiet(bench));
  const burst = await stage('burst', () => measureBurst(bench, { sustained }));
  const imported = await stage('import', () =>
    measureImport(bench, { sustained: endToEnd?.leadsPerSecond }),
  );
  const uploads = await stage('uploads', () => measureUploads(bench));
  const size = await stage('size', () => measureSize(bench));
  const soak = await stage('soak', () => measureSoak(bench, { sustained }));
  const lts = await stage('lts', () => measureLts(bench));
  const spool = await stage('spool', () => measureSpool(bench));
  const mapping = await stage('mapping', () =>
    Promise.resolve(
      measureMapping(bench, { receiverMicros: receivers?.leadgate.cpuByProcess['service'] }),
    ),
  );
  const deliveries = await stage('deliveries', () => measureDeliveries(bench));
  const series = await stage('series', () => measureSeries(bench));
  const start = await stage('start', () => measureStart(bench));
  const npmStart = await stage('npm-start', () => measureNpmStart(bench));
  return {
    ...{ receivers, workers, endToEnd, spike, quiet, burst, import: imported },
    ...{ uploads, size, soak, lts, spool, mapping, series, deliveries, start, npmStart },
  };
}

/** @typedef {Awaited<ReturnType<typeof measure>>} Figures */

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
