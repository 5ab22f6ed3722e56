import { startRedisCluster, type OwnCluster } from '@leadgate/testkit';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { run } from './run.ts';

let cluster: OwnCluster;
// No node of it fails here: one that has to wait for a core is not to be taken for dead.
beforeAll(async () => void (cluster = await startRedisCluster({ nodeTimeoutMs: 15_000 })), 60_000);
afterAll(() => cluster?.stop());

async function leadgate(argv: string[], env: Record<string, string>) {
  const ran = { status: -1, out: '', err: '' };
  ran.status = await run(argv, {
    out: (text) => (ran.out += text),
    err: (text) => (ran.err += text),
    env,
    cwd: '/',
  });
  return ran;
}

test('doctor looks at every node of a Cluster, and names the ones that are not as they should be', async () => {
  const env = { REDIS_URL: cluster.urls.join(',') };
  const { out } = await leadgate(['doctor'], env);
  expect(out).toMatch(/^ok +replicas +3 masters, 3 replicas$/m);
  expect(out).toMatch(/^warn +memory +.* used by 127\.0\.0\.1:\d+, the fullest node, no limit$/m);
  expect(out).toMatch(/^ok +eviction +maxmemory-policy noeviction$/m);
  // Neither a password nor where it stood.
  expect(out).not.toContain(new URL(cluster.urls[0] ?? '').password);
});

test('a node of a Cluster that is taken for all of Redis is a sentence that says what to set', async () => {
  const [url = ''] = cluster.urls;
  const { status, err } = await leadgate(['shards', 'list'], { REDIS_URL: url });
  // Two nodes of three do not have what is asked for.
  const others = await Promise.all(
    cluster.urls.slice(1, 3).map((other) => leadgate(['shards', 'list'], { REDIS_URL: other })),
  );
  const failed = [{ status, err }, ...others].filter((one) => one.status !== 0);
  expect(failed).toHaveLength(3);
  for (const one of failed)
    expect(one).toMatchObject({
      status: 2,
      err: 'leadgate: Redis is a node of a Cluster: set REDIS_CLUSTER to 1.\n',
    });
  // It gives up after three seconds, which nodes that wait for a core may take.
  await vi.waitFor(
    async () => {
      const known = await leadgate(['shards', 'list'], { REDIS_URL: url, REDIS_CLUSTER: '1' });
      expect(known).toMatchObject({ status: 0, err: '' });
    },
    { timeout: 20_000 },
  );
});
