import { startOwnCluster } from '../../../scripts/servers/own-cluster.js';
import { startOwnPostgres, startOwnRedis } from '../../../scripts/servers/own-server.js';
import { openSilentProxy } from '../../../scripts/servers/silent-proxy.js';

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

/** A Redis Cluster of a test's own, to kill and to reshard. */
export type OwnCluster = Awaited<ReturnType<typeof startOwnCluster>>;

/**
 * Three masters and three replicas, unless told otherwise: AOF always and noeviction, empty. A node
 * that is gone is noticed after a second.
 */
export function startRedisCluster(
  options: Parameters<typeof startOwnCluster>[0] = {},
): Promise<OwnCluster> {
  return startOwnCluster(options);
}

/** A network before a server that a test can have drop every packet. */
export type SilentProxy = Awaited<ReturnType<typeof openSilentProxy>>;

/** Everything passes until it is told to be silent. */
export function startSilentProxy(url: string): Promise<SilentProxy> {
  return openSilentProxy(url);
}
