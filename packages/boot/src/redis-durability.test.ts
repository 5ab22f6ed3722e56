import { expect, test } from 'vitest';
import { durabilityFindings, fullest, type RedisDurability } from './redis-durability.ts';

const strict: RedisDurability = {
  node: null,
  isPartOfCluster: false,
  version: '7.0.15',
  evictionPolicy: 'noeviction',
  aof: true,
  appendfsync: 'always',
  noAppendfsyncOnRewrite: false,
  maxmemory: 0,
  usedMemory: 1_000_000,
  replicas: 0,
  replTimeout: 60,
};
const findings = (...changes: Partial<RedisDurability>[]) =>
  durabilityFindings(changes.map((change) => ({ ...strict, ...change })));

test('a Redis as durable as it can be has no findings', () => {
  expect(findings({})).toEqual({ fatal: [], warnings: [] });
});

test.each(['allkeys-lru', 'volatile-lru', 'volatile-ttl'])(
  'a Redis that may evict leads (%s) is fatal',
  (evictionPolicy) => {
    expect(findings({ evictionPolicy }).fatal).toEqual([
      `Redis may throw leads away when it is full (maxmemory-policy ${evictionPolicy}): set maxmemory-policy to noeviction.`,
    ]);
  },
);

test('a Redis too old for the scripts is fatal, and one that is newer than 9 is not', () => {
  expect(findings({ version: '6.2.14' }).fatal).toEqual([
    'Redis 6.2.14 cannot run the scripts of Leadgate: run Redis 7.0 or newer, or Valkey.',
  ]);
  expect(findings({ version: '7.0.0' }).fatal).toEqual([]);
  expect(findings({ version: '10.0.1' }).fatal).toEqual([]);
  expect(findings({ version: 'unknown' }).fatal).toEqual([]);
});

test.each([
  [{ aof: false }, /appendonly no/],
  [{ appendfsync: 'everysec' }, /appendfsync everysec/],
  [{ appendfsync: 'unknown' }, /does not tell its appendfsync/],
  [{ noAppendfsyncOnRewrite: true }, /no-appendfsync-on-rewrite yes/],
  [{ evictionPolicy: 'unknown' }, /does not tell its eviction policy/],
] as const)('a promise weaker than "on disk before the answer" is named: %o', (change, warning) => {
  const { fatal, warnings } = findings(change);
  expect(fatal).toEqual([]);
  expect(warnings).toEqual([expect.stringMatching(warning)]);
});

test('of a Cluster each finding is told once, with the nodes where it is so', () => {
  const nodes = [
    { node: 'a:1', aof: false },
    { node: 'b:2', evictionPolicy: 'allkeys-lru' },
    { node: 'c:3', aof: false },
  ];
  const { fatal, warnings } = findings(...nodes);
  expect(fatal).toEqual([expect.stringMatching(/allkeys-lru.* \(b:2\)$/)]);
  expect(warnings).toEqual([expect.stringMatching(/appendonly no.* \(a:1, c:3\)$/)]);
});

test('a node of a Cluster is not used as if it were all of Redis', () => {
  expect(findings({ isPartOfCluster: true }).fatal).toEqual([
    'Redis is a node of a Cluster: set REDIS_CLUSTER to 1.',
  ]);
});

test('the fullest node is the one nearest to its own limit, not the one that holds most', () => {
  const roomy = { usedMemory: 900, maxmemory: 10_000 };
  const full = { usedMemory: 80, maxmemory: 100 };
  const unlimited = { usedMemory: 100_000, maxmemory: 0 };
  expect(fullest([roomy, full, unlimited])).toBe(full);
  expect(fullest([{ ...roomy, maxmemory: 0 }, unlimited])).toBe(unlimited);
  expect(fullest([])).toBeUndefined();
});
