import { setTimeout as delay } from 'node:timers/promises';
import { createToken } from '@leadgate/store';
import { openFeeder } from '../feed.js';
import { startLeadgate, startService } from '../processes.js';
import { refillRedis } from '../servers.js';

/** @typedef {import('../plan.js').Plan} Plan */
/** @typedef {Awaited<ReturnType<typeof import('../servers.js').startServers>>} Servers */
/** @typedef {import('../servers.js').Database} Database */
/** @typedef {import('../figures.js').Spread} Spread */

/**
 * What every stage works with. Leadgate and the services to compare with have a database and a
 * logical Redis each, on the same servers, and both know the same people.
 * @typedef {object} Bench
 * @property {Plan} plan
 * @property {Servers} servers
 * @property {{ redisUrl: string, database: Database }} leadgate
 * @property {{ redisUrl: string, database: Database }} naive
 * @property {(line: string) => void} say
 */

/**
 * What the stages before have measured; nothing of those that were left out.
 * @typedef {object} Figures
 * @property {Awaited<ReturnType<typeof import('./receivers.js').measure>>} [receivers]
 * @property {Awaited<ReturnType<typeof import('./workers.js').measure>>} [workers]
 * @property {Awaited<ReturnType<typeof import('./end-to-end.js').measure>>} [endToEnd]
 */

/** Leads a second of the receiver alone; if it was not measured, a guess that leaves room. @param {Figures} figures */
export const topOf = ({ receivers }) => receivers?.leadgate.leadsPerSecond.median ?? 4_000;

/** Leads a second at which the queue stays flat. @param {Figures} figures */
export const sustainedOf = (figures) => figures.endToEnd?.leadsPerSecond ?? topOf(figures) / 3;

/**
 * @template {Record<string, () => Promise<unknown>>} Variants
 * @typedef {{ [Name in keyof Variants]: Awaited<ReturnType<Variants[Name]>>[] }} Rounds
 */

/**
 * Measures each once a round, one after the other.
 * @template {Record<string, () => Promise<unknown>>} Variants
 * @param {number} rounds
 * @param {Variants} variants
 * @param {(round: number, measured: Rounds<Variants>) => void} [tell]
 */
export async function byTurns(rounds, variants, tell) {
  /** @type {[string, unknown[]][]} */
  const lists = Object.keys(variants).map((name) => [name, []]);
  const measured = /** @type {Rounds<Variants>} */ (Object.fromEntries(lists));
  for (let round = 1; round <= rounds; round++) {
    for (const [name, list] of lists) list.push(await variants[name]?.());
    tell?.(round, measured);
  }
  return measured;
}

/**
 * Tells the leads a second of each in a round.
 * @param {Bench['say']} say
 * @returns {(round: number, measured: Record<string, { rate: number }[]>) => void}
 */
export const tellRates = (say) => (round, measured) => {
  const rates = Object.entries(measured).map(
    ([name, all]) => `${name} ${Math.round(all.at(-1)?.rate ?? 0).toString()}/s`,
  );
  say(`  round ${round.toString()}: ${rates.join(', ')}`);
};

/** Jobs that the workers to compare with hold at once. */
export const CONCURRENCY = 400;

/**
 * Everything on, and no limit that a load from one address, or what waits, would reach.
 * @param {Bench} bench
 * @param {{ redisUrl?: string, node?: string }} [on]
 */
export function startReceiver({ plan, servers, leadgate }, on = {}) {
  const { redisUrl = leadgate.redisUrl, ...node } = on;
  return startLeadgate('receiver', {
    ...{ log: servers.log, profiles: plan.profiles, ...node },
    env: {
      REDIS_URL: redisUrl,
      RATE_LIMIT_LINK: '1000000000',
      RATE_LIMIT_ADDRESS: '1000000000',
      MAX_QUEUE_DEPTH: '1000000000',
    },
  });
}

/**
 * @param {Bench} bench
 * @param {{ redisUrl?: string, database?: Database, settings?: Record<string, string>, node?: string }} [on]
 */
export function startWorker({ plan, servers, leadgate }, on = {}) {
  const { redisUrl, database, settings } = { ...leadgate, ...on };
  return startLeadgate('worker', {
    ...{ log: servers.log, profiles: plan.profiles },
    ...(on.node !== undefined && { node: on.node }),
    env: { REDIS_URL: redisUrl, DATABASE_URL: database.url, ...settings },
  });
}

/** Of consoles; deliverers have the key. */
export const SECRETS = {
  CONSOLE_SECRET: 'of a benchmark, and of no other use at all',
  SECRETS_KEY: 'the key of the benchmark, 32 characters or more',
};

/**
 * A console, and a token of that role for its API.
 * @param {Bench} bench
 * @param {{ role: 'viewer' | 'operator', flags?: string[] }} options `flags`: of Node
 */
export async function startConsole({ plan, servers, leadgate }, { role, flags = [] }) {
  const { database, redisUrl } = leadgate;
  const created = await createToken(database.store, {
    ...{ name: 'bench', role, workspaceId: null, days: 1 },
    createdBy: { name: 'bench', operatorId: null },
  });
  if (created.kind !== 'created') throw new Error(created.kind);
  const app = await startLeadgate('console', {
    ...{ log: servers.log, profiles: plan.profiles, flags },
    env: {
      DATABASE_URL: database.url,
      REDIS_URL: redisUrl,
      RECEIVER_URL: 'http://127.0.0.1',
      ...SECRETS,
    },
  });
  return { ...app, token: created.secret };
}

/**
 * The receiver to compare with, one `queue.add` a request.
 * @param {Bench} bench
 */
export function startNaiveQueue({ servers, naive }) {
  const { redisUrl, database } = naive;
  const { workspaceId, linkId } = database;
  return startService('naive-queue', servers.log, { redisUrl, workspaceId, linkId });
}

/**
 * Its worker, one transaction a job.
 * @param {Bench} bench
 */
export function startNaiveWorker({ servers, naive }) {
  const { redisUrl, database } = naive;
  const settings = { redisUrl, databaseUrl: database.url, concurrency: CONCURRENCY };
  return startService('naive-worker', servers.log, settings);
}

/**
 * @param {import('../processes.js').Running} running
 * @param {Database} database
 */
export const captureUrl = (running, database) => `${running.url}/ingest/${database.code}`;

/**
 * A receiver and a worker on an empty Redis that knows the same people as the database, what to post to,
 * and what to look at the queue by.
 * @param {Bench} bench
 * @param {Record<string, string>} [settings] of the worker
 */
export async function startBoth(bench, settings = {}) {
  const { servers, leadgate } = bench;
  await refillRedis(leadgate.redisUrl, leadgate.database);
  const receiver = await startReceiver(bench);
  const worker = await startWorker(bench, { settings });
  const feeder = await openFeeder(leadgate.redisUrl, leadgate.database);
  return {
    ...{ receiver, worker, feeder },
    url: captureUrl(receiver, leadgate.database),
    pids: {
      ...{ receiver: receiver.pid, worker: worker.pid },
      ...{ redis: servers.redis.pid, postgres: servers.postgres.pid },
    },
    /** Resolves when no lead waits: the seconds that took. */
    drained: async () => {
      const start = performance.now();
      while ((await feeder.left()) > 0) await delay(50);
      return (performance.now() - start) / 1_000;
    },
    stop: async () => {
      await worker.stop();
      await receiver.stop();
      await feeder.close();
    },
  };
}
