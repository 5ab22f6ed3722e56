import { startOwnPostgres, startOwnRedis } from '../../../scripts/servers/own-server.js';

/** A server of a test's own, to kill or to fill. */
export type OwnServer = Awaited<ReturnType<typeof startOwnRedis>>;

interface ServerOptions {
  /** Of redis.conf or postgresql.conf, over the launcher's: `{ maxmemory: '8mb' }`. */
  settings?: Record<string, string>;
}

/** Making a database takes a tenth of the CPU there, and a write that is to be on disk does not wait. */
const PLACE = { inMemory: true };

/** A private Redis: AOF always and noeviction, as in production, 64 databases, empty. */
export function startRedisServer({ settings }: ServerOptions = {}): Promise<OwnServer> {
  return startOwnRedis(settings, PLACE);
}

/** A private Postgres with an empty database, not migrated. Survives SIGKILL, not a power cut. */
export function startPostgresServer({ settings }: ServerOptions = {}): Promise<OwnServer> {
  return startOwnPostgres(settings, PLACE);
}
