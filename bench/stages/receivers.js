import { cpuFigures } from '../cpu.js';
import { spread, told } from '../figures.js';
import { postLeads } from '../load/load.js';
import { startService } from '../processes.js';
import { refillRedis } from '../servers.js';
import { withRedis } from '../../scripts/servers/session.js';
import { byTurns, captureUrl, startNaiveQueue, startReceiver, tellRates } from './bench.js';

/** @typedef {import('./bench.js').Bench} Bench */
/** @typedef {import('./bench.js').Database} Database */
/** @typedef {import('../load/load.js').Measured} Measured */
/** @typedef {import('../processes.js').Running} Running */

/**
 * What a receiver takes at most, beside the others, round by round.
 * @param {Bench} bench
 */
export async function measure(bench) {
  const { plan, servers, leadgate, naive, say } = bench;
  const { log } = servers;
  const [redis, postgres] = [servers.redis.pid, servers.postgres.pid];
  // As empty as before.
  const refill = () => refillRedis(leadgate.redisUrl, leadgate.database);
  const empty = () => withRedis(naive.redisUrl, (client) => client.flushdb());
  await refill();
  const running = {
    echo: await startService('echo', log),
    naiveQueue: await startNaiveQueue(bench),
    synchronous: await startService('synchronous', log, { databaseUrl: naive.database.url }),
    leadgate: await startReceiver(bench),
  };
  /** @param {number} seconds */
  const variants = (seconds) => {
    /** @param {Running} service @param {Database} database @param {Record<string, number>} pids */
    const post = (service, database, pids) =>
      postLeads(
        captureUrl(service, database),
        { ...plan, seconds },
        { service: service.pid, ...pids },
      );
    return {
      echo: () => post(running.echo, naive.database, {}),
      naiveQueue: () => post(running.naiveQueue, naive.database, { redis }).finally(empty),
      synchronous: () => post(running.synchronous, naive.database, { postgres }),
      leadgate: () => post(running.leadgate, leadgate.database, { redis }).finally(refill),
    };
  };
  await byTurns(1, variants(plan.warmSeconds));
  const measured = await byTurns(plan.rounds, variants(plan.seconds), tellRates(say));
  for (const service of Object.values(running)) await service.stop();
  for (const [name, all] of Object.entries(measured))
    say(`  ${name}: ${told(spread(all.map((one) => one.rate)))} leads/s`);
  return {
    ...{ echo: summary(measured.echo), naiveQueue: summary(measured.naiveQueue) },
    ...{ synchronous: summary(measured.synchronous), leadgate: summary(measured.leadgate) },
  };
}

/** @param {readonly Measured[]} measured */
export function summary(measured) {
  return {
    leadsPerSecond: spread(measured.map((one) => one.rate)),
    p50Ms: spread(measured.map((one) => one.load.ms.p50)),
    p99Ms: spread(measured.map((one) => one.load.ms.p99)),
    ...cpuFigures(measured.map((one) => one.cpu)),
    statuses: measured.map((one) => one.load.statuses),
    errors: measured.reduce((sum, one) => sum + one.load.errors, 0),
  };
}
