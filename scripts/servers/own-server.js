import { startPostgres } from './postgres.js';
import { makeHome, processLedger, say } from './private-home.js';
import { send } from './process.js';
import { startRedis } from './redis.js';

/**
 * A server of one's own, to kill or to fill. It does not outlive the process that started it.
 * @typedef {object} OwnServer
 * @property {string} url
 * @property {number} port
 * @property {number} pid of the process that runs now: another after a restart
 * @property {(signal?: NodeJS.Signals) => Promise<void>} kill sends a signal, SIGKILL unless told;
 *   resolves when the process is gone, or was only paused
 * @property {() => Promise<void>} restart starts it again after a kill: same port, data, password
 * @property {() => Promise<void>} stop stops it and removes its data
 */

/** What a crash of the process does not need; only a crash of the machine does. */
export const POSTGRES_TEST_SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '300',
};

/** @typedef {import('./private-home.js').makeHome} MakeHome */

/**
 * A private Redis: AOF always and noeviction, as in production, 64 databases, empty.
 * @param {Record<string, string>} [settings] of redis.conf, over the launcher's
 * @param {Parameters<MakeHome>[0]} [place]
 */
export function startOwnRedis(settings = {}, place) {
  return startOwnServer(startRedis, settings, place);
}

/**
 * A private Postgres with an empty database, not migrated. Survives SIGKILL, not a power cut.
 * @param {Record<string, string>} [settings] of postgresql.conf
 * @param {Parameters<MakeHome>[0]} [place]
 */
export function startOwnPostgres(settings = {}, place) {
  return startOwnServer(startPostgres, { ...POSTGRES_TEST_SETTINGS, ...settings }, place);
}

/**
 * @param {typeof startRedis | typeof startPostgres} start
 * @param {Record<string, string>} settings
 * @param {Parameters<MakeHome>[0]} place
 * @returns {Promise<OwnServer>}
 */
async function startOwnServer(start, settings, place) {
  const { path, log, programs, remove } = await makeHome(place);
  const { add: onProcess } = await processLedger();
  const run = () => start({ home: path, log, programs, say, settings, onProcess });
  let server = await run();
  return {
    get url() {
      return server.url;
    },
    get port() {
      return server.port;
    },
    get pid() {
      return server.process.pid;
    },
    kill: async (signal = 'SIGKILL') => {
      send(server.process.pid, signal);
      if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await server.process.exited;
    },
    restart: async () => {
      await server.stop();
      server = await run();
    },
    stop: async () => {
      send(server.process.pid, 'SIGCONT');
      await server.stop();
      // Gone, and not only a zombie.
      await server.process.exited;
      remove();
    },
  };
}
