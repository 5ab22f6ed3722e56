import { expect, test } from 'vitest';
import { durabilityFindings, type RedisDurability } from './redis-durability.ts';

const strict: RedisDurability = {
  version: '7.0.15',
  evictionPolicy: 'noeviction',
  aof: true,
  appendfsync: 'always',
  noAppendfsyncOnRewrite: false,
  maxmemory: 0,
  usedMemory: 1_000_000,
};
const findings = (change: Partial<RedisDurability>) => durabilityFindings({ ...strict, ...change });

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

test('a Redis too old for the queue is fatal, and one that is newer than 9 is not', () => {
  expect(findings({ version: '6.0.16' }).fatal).toHaveLength(1);
  expect(findings({ version: '6.2.0' }).fatal).toEqual([]);
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
