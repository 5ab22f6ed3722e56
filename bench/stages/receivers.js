import { spread, told } from '../figures.js';
import { postLeads } from '../load/load.js';
import { startService } from '../processes.js';
import { refillRedis } from '../servers.js';
import { Redis } from 'ioredis';
import { captureUrl, startNaiveQueue, startReceiver } from './bench.js';

/** @typedef {import('./bench.js').Bench} Bench */
/** @typedef {import('../load/load.js').Measured} Measured */

/** @typedef {'echo' | 'naiveQueue' | 'synchronous' | 'leadgate'} Variant */

/**
 * What a receiver takes at most, beside the others, round by round.
 * @param {Bench} bench
 */
export async function measureReceivers(bench) {
  const { plan, servers, leadgate, naive, say } = bench;
  const { log } = servers;
  await refillRedis(leadgate.redisUrl, leadgate.database);
  const running = {
    echo: await startService('echo', { log, settings: {} }),
    naiveQueue: await startNaiveQueue(bench),
    synchronous: await startService('synchronous', {
      log,
      settings: { databaseUrl: naive.database.url },
    }),
    leadgate: await startReceiver(bench),
  };
  const pidsOf = (/** @type {Variant} */ name) => ({
    service: running[name].pid,
    ...(name !== 'echo' && name !== 'synchronous' && { redis: servers.redis.pid }),
    ...(name === 'synchronous' && { postgres: servers.postgres.pid }),
  });
  const variants = /** @type {Variant[]} */ (Object.keys(running));
  /** @type {Record<Variant, Measured[]>} */
  const measured = { echo: [], naiveQueue: [], synchronous: [], leadgate: [] };

  for (let i = 0; i <= plan.rounds; i++) {
    for (const name of variants) {
      const { database } = name === 'leadgate' ? leadgate : naive;
      const one = await postLeads(
        captureUrl(running[name], database),
        { ...plan, known: plan.known, seconds: i === 0 ? plan.warmSeconds : plan.seconds },
        pidsOf(name),
      );
      if (i > 0) measured[name].push(one);
      // As empty as before.
      if (name === 'leadgate') await refillRedis(leadgate.redisUrl, leadgate.database);
      if (name === 'naiveQueue') await empty(naive.redisUrl);
    }
    if (i > 0)
      say(
        `  round ${i.toString()}: ${variants
          .map((name) => `${name} ${Math.round(measured[name].at(-1)?.rate ?? 0).toString()}/s`)
          .join(', ')}`,
      );
  }
  for (const service of Object.values(running)) await service.stop();
  const figures = Object.fromEntries(variants.map((name) => [name, summary(measured[name])]));
  for (const name of variants)
    say(`  ${name}: ${told(spread(measured[name].map((one) => one.rate)))} leads/s`);
  return /** @type {Record<Variant, ReturnType<typeof summary>>} */ (figures);
}

/** @param {string} redisUrl */
async function empty(redisUrl) {
  const redis = new Redis(redisUrl);
  await redis.flushdb();
  await redis.quit();
}

/** @param {readonly Measured[]} measured */
export function summary(measured) {
  const names = Object.keys(measured[0]?.cpu.byProcess ?? {});
  return {
    leadsPerSecond: spread(measured.map((one) => one.rate)),
    p50Ms: spread(measured.map((one) => one.load.ms.p50)),
    p99Ms: spread(measured.map((one) => one.load.ms.p99)),
    cpuMicrosPerLead: spread(measured.map((one) => one.cpu.total)),
    cpuByProcess: Object.fromEntries(
      names.map((name) => [
        name,
        spread(measured.map((one) => one.cpu.byProcess[name] ?? 0)).median,
      ]),
    ),
    othersShareOfMachine: spread(measured.map((one) => one.cpu.othersShare)),
    statuses: measured.map((one) => one.load.statuses),
    errors: measured.reduce((sum, one) => sum + one.load.errors, 0),
  };
}
