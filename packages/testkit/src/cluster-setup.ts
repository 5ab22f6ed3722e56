import type { TestProject } from 'vitest/node';
import { startRedisCluster } from './own-server.ts';
import './global-setup.ts';

/** After global-setup.ts: has testRedis hand out a Redis Cluster. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await startRedisCluster();
  project.provide('redisCluster', cluster.urls.join(','));
  return () => cluster.stop();
}
