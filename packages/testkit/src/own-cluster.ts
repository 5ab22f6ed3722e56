import { startOwnCluster } from '../../../scripts/servers/own-cluster.js';

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
