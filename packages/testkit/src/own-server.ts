import {
  type OwnServer,
  startOwnPostgres,
  startOwnRedis,
} from '../../../scripts/servers/own-server.js';

export {
  type OwnCluster,
  startOwnCluster as startRedisCluster,
} from '../../../scripts/servers/own-cluster.js';
export {
  openSilentProxy as startSilentProxy,
  type SilentProxy,
} from '../../../scripts/servers/silent-proxy.js';
export type { OwnServer };

interface ServerOptions {
  /** Of redis.conf or postgresql.conf, over the launcher's: `{ maxmemory: '8mb' }`. */
  settings?: Record<string, string>;
}

/** Making a database takes a tenth of the CPU there, and a write that is to be on disk does not wait. */
const PLACE = { inMemory: true };

/** A private Redis: AOF always and noeviction, as in production, 64 databases, empty. */
export const startRedisServer = ({ settings }: ServerOptions = {}): Promise<OwnServer> =>
  startOwnRedis(settings, PLACE);

/** A private Postgres with an empty database, not migrated. Survives SIGKILL, not a power cut. */
export const startPostgresServer = ({ settings }: ServerOptions = {}): Promise<OwnServer> =>
  startOwnPostgres(settings, PLACE);
