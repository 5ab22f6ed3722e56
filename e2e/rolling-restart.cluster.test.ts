import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { folderForTest, forTest } from '@leadgate/testkit';
import { storedLeads } from './leads.ts';
import { startProxy } from './proxy.ts';
import { startLoad } from './steady-load.ts';
import { startSystem } from './system.ts';

const compose = parse(readFileSync(new URL('../docker-compose.yml', import.meta.url), 'utf8'), {
  merge: true,
}) as { services: { receiver: { environment: { STOP_DELAY_MS: string } } } };
const { STOP_DELAY_MS } = compose.services.receiver.environment;

test('every receiver and worker is restarted under load behind the proxy: each post is answered 202 and applied, once', async () => {
  const spools = folderForTest();
  const system = await forTest(
    startSystem({
      receivers: 2,
      workers: 3,
      receiverEnv: { STOP_DELAY_MS, TRUST_PROXY: 'loopback', SPOOL_DIR: spools },
    }),
  );
  const proxy = await forTest(startProxy(system.receivers.map(({ url }) => url)));
  const { code } = await system.openLink();
  const load = await forTest(startLoad(() => [proxy.url], { code, perSecond: 40 }));

  const restartReceivers = async () => {
    for (const [n, receiver] of system.receivers.entries()) {
      expect(await system.restartReceiver(receiver)).toBe(0);
      // Nobody would be left if the next one went before the proxy gives posts to this one again.
      await expect.poll(() => proxy.output(), { timeout: 10_000 }).toMatch(cameBack(n + 1));
    }
  };
  const restartWorkers = async () => {
    for (const worker of system.workers.slice()) expect(await system.restartWorker(worker)).toBe(0);
  };
  await Promise.all([restartReceivers(), restartWorkers()]);

  const { answers, accepted, longestGapMs } = await load.stop();
  expect(Object.keys(answers), `${JSON.stringify(answers)}\n${proxy.output()}`).toEqual(['202']);
  await expect
    .poll(async () => (await storedLeads(system)).size, { timeout: 30_000 })
    .toBe(accepted.size);
  expect(await storedLeads(system)).toEqual(accepted);
  console.error(`rolling restart: ${accepted.size} posts, longest gap ${longestGapMs} ms`);
}, 120_000);

/** As HAProxy tells its events. */
const cameBack = (n: number) =>
  new RegExp(`ready/receiver-${n} is DOWN[^]*ready/receiver-${n} is UP`);
