import { Redis } from 'ioredis';
import { openFeeder } from '../feed.js';
import { spread, told } from '../figures.js';
import { postLeads } from '../load/load.js';
import { query, refillRedis, usedMemory } from '../servers.js';
import { captureUrl, startReceiver, startWorker } from './bench.js';
import { drain, drainSummary } from './workers.js';
import { summary } from './receivers.js';

/** @typedef {import('./bench.js').Bench} Bench */

/**
 * The worker on an empty database and on a large one, by turns; the receiver on an empty Redis and on
 * one that holds many jobs and identities, by turns; and what those cost in memory.
 * @param {Bench} bench
 */
export async function measureSize(bench) {
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
 * @param {import('./bench.js').Database} large
 */
async function compareWorkers(bench, large) {
  const { plan, servers, say } = bench;
  const empty = await servers.database(`empty_${large.people.toString()}`, 0);
  const other = await servers.anotherRedis();
  const sides = [];
  for (const [database, redis] of /** @type {const} */ ([
    [empty, servers.redis],
    [large, other],
  ])) {
    await refillRedis(redis.url, database);
    // Known people are the large one's; on the empty one everybody is new the first time.
    const feeder = await openFeeder(redis.url, {
      ...database,
      people: Math.max(database.people, plan.known),
    });
    const worker = await startWorker(bench, { redisUrl: redis.url, database });
    const pids = { redis: redis.pid, postgres: servers.postgres.pid, worker: worker.pid };
    sides.push({
      feeder,
      worker,
      pids,
      drained: /** @type {import('./workers.js').Drained[]} */ ([]),
    });
  }
  for (let i = 0; i <= plan.size.rounds; i++)
    for (const side of sides) {
      const one = await drain(side.feeder, plan.jobs.leadgate, side.pids);
      if (i > 0) side.drained.push(one);
    }
  for (const { feeder, worker } of sides) {
    await worker.stop();
    await feeder.close();
  }
  const [before, after] = sides.map(({ drained }) => drainSummary(drained));
  const ratio = (after?.leadsPerSecond.median ?? 0) / (before?.leadsPerSecond.median ?? 0);
  say(`  worker with ${large.people.toLocaleString('en')} leads ÷ empty: ${ratio.toFixed(2)}`);
  return { ratio, empty: before, full: after };
}

/**
 * @param {Bench} bench
 * @param {import('./bench.js').Database} large
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
  const sides = [
    { redis: servers.redis, database: leadgate.database, url: leadgate.redisUrl },
    { redis: other, database: large, url: other.url },
  ];
  const running = [];
  for (const { redis, database, url } of sides) {
    const receiver = await startReceiver(bench, { redisUrl: url });
    const pids = { service: receiver.pid, redis: redis.pid };
    running.push({
      receiver,
      database,
      pids,
      measured: /** @type {import('../load/load.js').Measured[]} */ ([]),
    });
  }
  for (let i = 0; i <= plan.size.rounds; i++)
    for (const { receiver, database, pids, measured } of running) {
      const seconds = i === 0 ? plan.warmSeconds : plan.seconds;
      const one = await postLeads(
        captureUrl(receiver, database),
        { ...plan, known: database.people, seconds },
        pids,
      );
      if (i > 0) measured.push(one);
    }
  for (const { receiver } of running) await receiver.stop();
  await feeder.close();
  const rates = running.map(({ measured }) => spread(measured.map((one) => one.rate)));
  const ratio = (rates[1]?.median ?? 0) / (rates[0]?.median ?? 0);
  say(
    `  receiver with them ${rates[1] ? told(rates[1]) : ''} ÷ empty ${rates[0] ? told(rates[0]) : ''}: ${ratio.toFixed(2)}`,
  );
  return {
    ...{ waiting: left, identities: known, bytesPerIdentity, bytesPerWaitingLead, ratio },
    empty: summary(running[0]?.measured ?? []),
    full: summary(running[1]?.measured ?? []),
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
async function weigh(redisUrl) {
  const redis = new Redis(redisUrl);
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
  await redis.quit();
  return weighed;
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
  const redis = new Redis(redisUrl);
  const keys = await redis.dbsize();
  await redis.quit();
  if (keys === 0) throw new Error('the identities were not refilled');
  return 2 * people;
}
