import { startOwnPostgres, startOwnRedis } from '../../../scripts/servers/own-server.js';

/** A server of a test's own, to kill or to fill. */
export type OwnServer = Awaited<ReturnType<typeof startOwnRedis>>;

interface ServerOptions {
  /** Of redis.conf or postgresql.conf, over the launcher's: `{ maxmemory: '8mb' }`. */
  settings?: Record<string, string>;
}

/** A private Redis: AOF always and noeviction, as in production, 64 databases, empty. */
export function startRedisServer({ settings }: ServerOptions = {}): Promise<OwnServer> {
  return startOwnRedis(settings);
}

/** A private Postgres with an empty database, not migrated. Survives SIGKILL, not a power cut. */
export function startPostgresServer({ settings }: ServerOptions = {}): Promise<OwnServer> {
  return startOwnPostgres(settings);
}
