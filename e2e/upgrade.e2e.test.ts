import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { queueCounts } from '@leadgate/queue';
import { folderForTest, forTest } from '@leadgate/testkit';
import { expect, test } from 'vitest';
import { storedLeads } from './leads.ts';
import { startLoad } from './steady-load.ts';
import { startSystem } from './system.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** A build that differs in one thing: its payloads are of the next version, and it reads this one too. */
function buildNextRelease(): string {
  const folder = folderForTest();
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  // A receiver's build has only what writes.
  for (const [app, places] of Object.entries({ receiver: 1, worker: 2 })) {
    const dist = join(folder, 'apps', app, 'dist');
    cpSync(join(root, 'apps', app, 'dist'), dist, { recursive: true });
    const main = join(dist, 'main.js');
    const next = readFileSync(main, 'utf8')
      .replace('WRITTEN_VERSION = 2;', 'WRITTEN_VERSION = 3;')
      .replace('READ_VERSIONS = [2];', 'READ_VERSIONS = [2, 3];');
    if (next.match(/_VERSIONS? = (3|\[2, 3\]);/g)?.length !== places)
      throw new Error('the versions were not found');
    writeFileSync(main, next);
  }
  return folder;
}

test('an upgrade under load that begins with the receivers: the older worker leaves what it cannot read and says so; nothing is lost and nothing fails', async () => {
  const next = buildNextRelease();
  const system = await forTest(startSystem());
  const [older] = system.workers;
  const { code } = await system.openLink();
  let urls = system.receivers.map(({ url }) => url);
  const load = startLoad(() => urls, { code, perSecond: 30 });
  await expect.poll(() => load.soFar.accepted.size, { timeout: 20_000 }).toBeGreaterThan(50);

  const newer = await system.startReceiver({}, next);
  urls = [newer.url];
  await expect
    .poll(() => older?.output() ?? '', { timeout: 20_000 })
    .toContain('jobs of a newer version wait for a newer worker');
  await expect
    .poll(async () => (await queueCounts(system.redis)).waiting, { timeout: 20_000 })
    .toBeGreaterThan(60);
  expect(await queueCounts(system.redis)).toMatchObject({ delayed: 0, failed: 0 });
  const port = /"port":(\d+)/.exec(older?.output() ?? '')?.[1];
  const ready = await fetch(`http://127.0.0.1:${port}/ready`);
  expect(ready.status).toBe(503);
  expect(await ready.json()).toMatchObject({ jobs: 'of version 3: update this worker' });
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(Number(/^leadgate_jobs_left_to_newer\S* (\d+)/m.exec(metrics)?.[1])).toBeGreaterThan(0);

  // Beside the older one, then without it.
  await system.startWorker({}, next);
  await expect
    .poll(async () => (await queueCounts(system.redis)).waiting, { timeout: 30_000 })
    .toBeLessThan(30);
  expect(await older?.stop()).toBe(0);
  const { accepted } = await load.stop();
  await system.settle();
  const stored = await storedLeads(system);
  expect([...accepted].filter(([id, leadId]) => stored.get(id) !== leadId)).toEqual([]);
  expect(await queueCounts(system.redis)).toMatchObject({ failed: 0 });
}, 120_000);
