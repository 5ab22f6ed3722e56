import { openFeeder } from '../feed.js';
import { told } from '../figures.js';
import { postLeads } from '../load/load.js';
import { query, refillRedis, usedMemory } from '../servers.js';
import { withRedis } from '../../scripts/servers/session.js';
import { byTurns, captureUrl, startReceiver, startWorker } from './bench.js';
import { drain, drainSummary } from './workers.js';
import { summary } from './receivers.js';

/** @typedef {import('./bench.js').Bench} Bench */
/** @typedef {import('./bench.js').Database} Database */
/** @typedef {import('../servers.js').OwnServer} OwnServer */

/**
 * The worker on an empty database and on a large one, by turns; the receiver on an empty Redis and on
 * one that holds many jobs and identities, by turns; and what those cost in memory.
 * @param {Bench} bench
 */
export async function measure(bench) {
  const workers = [];
  const large = await bench.servers.database('large', 0);
  for (const leads of bench.plan.size.leads) {
    bench.say(`  adding leads up to ${leads.toLocaleString('en')}`);
    await large.grow(leads);
    const postgresBytesPerLead = (await bytesIn(large.url)) / leads;
    bench.say(`  ${postgresBytesPerLead.toFixed(0)} bytes of Postgres a lead with one submission`);
    workers.push({ leads, postgresBytesPerLead, ...(await compareWorkers(bench, large)) });
  }
  return {
    workers,
    receiver: await compareReceivers(bench, large),
    waiting: await weighWaiting(bench),
  };
}

/**
 * @param {Bench} bench
 * @param {Database} large
 */
async function compareWorkers(bench, large) {
  const { plan, servers, say } = bench;
  const small = await servers.database(`empty_${large.people.toString()}`, 0);
  const onSmall = await startWorkerOn(bench, small, servers.redis);
  const onLarge = await startWorkerOn(bench, large, await servers.anotherRedis());
  const variants = { empty: onSmall.drain, full: onLarge.drain };
  await byTurns(1, variants);
  const measured = await byTurns(plan.size.rounds, variants);
  await onSmall.stop();
  await onLarge.stop();
  const [empty, full] = [drainSummary(measured.empty), drainSummary(measured.full)];
  const ratio = full.leadsPerSecond.median / empty.leadsPerSecond.median;
  say(`  worker with ${large.people.toLocaleString('en')} leads ÷ empty: ${ratio.toFixed(2)}`);
  return { ratio, empty, full };
}

/**
 * @param {Bench} bench
 * @param {Database} database
 * @param {OwnServer} redis
 */
async function startWorkerOn(bench, database, redis) {
  const { plan, servers } = bench;
  await refillRedis(redis.url, database);
  // Known people are the large one's; on the empty one everybody is new the first time.
  const people = Math.max(database.people, plan.known);
  const feeder = await openFeeder(redis.url, { ...database, people });
  const worker = await startWorker(bench, { redisUrl: redis.url, database });
  const pids = { redis: redis.pid, postgres: servers.postgres.pid, worker: worker.pid };
  return {
    drain: () => drain(feeder, plan.jobs.leadgate, pids),
    stop: async () => {
      await worker.stop();
      await feeder.close();
    },
  };
}

/**
 * @param {Bench} bench
 * @param {Database} large
 */
async function compareReceivers(bench, large) {
  const { plan, servers, leadgate, say } = bench;
  const { waiting, identities } = plan.size;
  const other = await servers.anotherRedis();
  const bare = await usedMemory(other.url);
  await refillRedis(other.url, large);
  const known = await identitiesIn(other.url, large.people);
  const afterIdentities = await usedMemory(other.url);
  const feeder = await openFeeder(other.url, large);
  await feeder.fill(waiting);
  const left = await feeder.left();
  const afterJobs = await usedMemory(other.url);
  // Half of what was fed are new people, who are remembered too.
  const bytesPerIdentity = (afterIdentities - bare) / known;
  const bytesPerWaitingLead = (afterJobs - afterIdentities - waiting * bytesPerIdentity) / left;
  say(
    `  ${known.toLocaleString('en')} identities (of ${identities.toLocaleString('en')}): ${bytesPerIdentity.toFixed(0)} bytes each`,
  );
  say(`  ${left.toLocaleString('en')} waiting leads: ${bytesPerWaitingLead.toFixed(0)} bytes each`);

  await refillRedis(leadgate.redisUrl, leadgate.database);
  const onEmpty = await startReceiver(bench);
  const onFull = await startReceiver(bench, { redisUrl: other.url });
  /** @param {number} seconds */
  const variants = (seconds) => {
    /** @param {import('../processes.js').Running} receiver @param {Database} database @param {OwnServer} redis */
    const post = (receiver, database, redis) => () =>
      postLeads(
        captureUrl(receiver, database),
        { ...plan, known: database.people, seconds },
        { service: receiver.pid, redis: redis.pid },
      );
    return {
      empty: post(onEmpty, leadgate.database, servers.redis),
      full: post(onFull, large, other),
    };
  };
  await byTurns(1, variants(plan.warmSeconds));
  const measured = await byTurns(plan.size.rounds, variants(plan.seconds));
  await onEmpty.stop();
  await onFull.stop();
  await feeder.close();
  const [empty, full] = [summary(measured.empty), summary(measured.full)];
  const ratio = full.leadsPerSecond.median / empty.leadsPerSecond.median;
  say(
    `  receiver with them ${told(full.leadsPerSecond)} ÷ empty ${told(empty.leadsPerSecond)}: ${ratio.toFixed(2)}`,
  );
  return {
    ...{ waiting: left, identities: known, bytesPerIdentity, bytesPerWaitingLead, ratio },
    ...{ empty, full },
  };
}

/** Posts a second of a receiver that is busy and not at its limit: so many leads come together as then do. */
const PACKING_RATE = 2_000;

/**
 * What Redis holds of a lead that waits, as a receiver packs it, all told but its identities; and what it
 * holds beside of a post that has a key, for a day, whether its lead waits or not.
 * @param {Bench} bench
 */
async function weighWaiting(bench) {
  const { plan, leadgate, say } = bench;
  await refillRedis(leadgate.redisUrl, leadgate.database);
  const receiver = await startReceiver(bench);
  const url = captureUrl(receiver, leadgate.database);
  const load = { connections: plan.clients, known: plan.known, rate: PACKING_RATE };
  const before = await weigh(leadgate.redisUrl);
  const { load: sent } = await postLeads(url, { ...load, seconds: plan.seconds }, {});
  const after = await weigh(leadgate.redisUrl);
  await receiver.stop();
  const waiting = sent.statuses['202'] ?? 0;
  const bytesPerWaitingLead = (after.others - before.others) / waiting;
  const bytesPerKey = (after.keys - before.keys) / waiting;
  say(
    `  ${waiting.toLocaleString('en')} leads posted at ${sent.rate.toFixed(0)} a second: ${bytesPerWaitingLead.toFixed(0)} bytes each while they wait, and ${bytesPerKey.toFixed(0)} for a day of each post's idempotency key`,
  );
  return { waiting, leadsPerSecond: sent.rate, bytesPerWaitingLead, bytesPerKey };
}

/** Bytes of the records of idempotency keys, and of all else but identities. @param {string} redisUrl */
function weigh(redisUrl) {
  return withRedis(redisUrl, async (redis) => {
    const weighed = { keys: 0, others: 0 };
    for await (const page of redis.scanStream({ count: 1_000 })) {
      const names = /** @type {string[]} */ (page).filter((name) => !name.includes('}:i:'));
      const asked = redis.pipeline();
      for (const name of names) asked.call('MEMORY', 'USAGE', name, 'SAMPLES', '0');
      for (const [at, [error, size]] of ((await asked.exec()) ?? []).entries()) {
        if (error !== null) throw error;
        weighed[names[at]?.includes('}:k:') ? 'keys' : 'others'] += Number(size);
      }
    }
    return weighed;
  });
}

/** Of the whole database, indices included. @param {string} url */
async function bytesIn(url) {
  const { rows } = await query(url, 'SELECT pg_database_size(current_database())::float8 AS bytes');
  return Number(rows[0]?.bytes);
}

/**
 * @param {string} redisUrl
 * @param {number} people each has two
 */
async function identitiesIn(redisUrl, people) {
  const keys = await withRedis(redisUrl, (redis) => redis.dbsize());
  if (keys === 0) throw new Error('the identities were not refilled');
  return 2 * people;
}
