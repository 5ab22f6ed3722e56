import { startPostgres, type PrivateServer } from '../../../scripts/servers/postgres.js';
import { startRedis } from '../../../scripts/servers/redis.js';
import { makeHome, processLedger, say, type PrivateHome } from './private-home.ts';

/** A server of a test's own, to kill or to fill. */
export interface OwnServer {
  readonly url: string;
  readonly port: number;
  /** Of the process that runs now: another after a restart. */
  readonly pid: number;
  /** Sends a signal, SIGKILL unless told; resolves when the process is gone, or was only paused. */
  kill: (signal?: NodeJS.Signals) => Promise<void>;
  /** Starts it again after a kill: same port, same data, same password. */
  restart: () => Promise<void>;
  /** Stops it and removes its data. */
  stop: () => Promise<void>;
}

interface ServerOptions {
  /** Of redis.conf or postgresql.conf, over the launcher's: `{ maxmemory: '8mb' }`. */
  settings?: Record<string, string>;
}

/** A private Redis: AOF always and noeviction, as in production, 64 databases, empty. */
export function startRedisServer({ settings = {} }: ServerOptions = {}): Promise<OwnServer> {
  return startOwnServer(startRedis, settings);
}

/** A private Postgres with an empty database, not migrated. Survives SIGKILL, not a power cut. */
export function startPostgresServer({ settings = {} }: ServerOptions = {}): Promise<OwnServer> {
  return startOwnServer(startPostgres, { ...POSTGRES_TEST_SETTINGS, ...settings });
}

/** What a crash of the process does not need; only a crash of the machine does. */
export const POSTGRES_TEST_SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '300',
};

type Start = typeof startRedis | typeof startPostgres;

async function startOwnServer(start: Start, settings: Record<string, string>): Promise<OwnServer> {
  const home = await makeHome();
  let server = await run(start, home, settings);
  const killAtExit = () => {
    signal(server.process.pid, 'SIGKILL');
  };
  process.once('exit', killAtExit);
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
    kill: async (name = 'SIGKILL') => {
      signal(server.process.pid, name);
      if (name !== 'SIGSTOP' && name !== 'SIGCONT') await server.process.exited;
    },
    restart: async () => {
      await server.stop();
      server = await run(start, home, settings);
    },
    stop: async () => {
      signal(server.process.pid, 'SIGCONT');
      await server.stop();
      process.removeListener('exit', killAtExit);
      home.remove();
    },
  };
}

async function run(
  start: Start,
  home: PrivateHome,
  settings: Record<string, string>,
): Promise<PrivateServer> {
  const ledger = await processLedger();
  return start({
    home: home.path,
    log: home.log,
    programs: home.programs,
    say,
    settings,
    onProcess: ledger.add,
  });
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended by itself.
  }
}
