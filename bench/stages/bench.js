import { cpus } from 'node:os';
import { startLeadgate } from '../processes.js';

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

/** Jobs that each worker holds at once: Leadgate's default. */
export const CONCURRENCY = 400;

export const CORES = cpus().length;

/**
 * Everything on, and no limit that a load from one address would reach.
 * @param {Bench} bench
 * @param {string} [redisUrl]
 */
export function startReceiver({ plan, servers, leadgate }, redisUrl = leadgate.redisUrl) {
  return startLeadgate('receiver', {
    log: servers.log,
    profiles: plan.profiles,
    env: {
      REDIS_URL: redisUrl,
      RATE_LIMIT_LINK: '1000000000',
      RATE_LIMIT_ADDRESS: '1000000000',
    },
  });
}

/**
 * @param {Bench} bench
 * @param {{ redisUrl?: string, database?: Database }} [on]
 */
export function startWorker({ plan, servers, leadgate }, on = {}) {
  return startLeadgate('worker', {
    log: servers.log,
    profiles: plan.profiles,
    env: {
      REDIS_URL: on.redisUrl ?? leadgate.redisUrl,
      DATABASE_URL: (on.database ?? leadgate.database).url,
    },
  });
}

/**
 * @param {import('../processes.js').Running} running
 * @param {Database} database
 */
export const captureUrl = (running, database) => `${running.url}/ingest/${database.code}`;
