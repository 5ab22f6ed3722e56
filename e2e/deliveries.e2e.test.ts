import type { ServerResponse } from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  folderForTest,
  forTest,
  startFakeHubSpot,
  startRecordingEndpoint,
} from '@leadgate/testkit';
import { Webhook } from 'standardwebhooks';
import { expect, test, vi } from 'vitest';
import { post } from './leads.ts';
import { startSystem, type System, type SystemOptions } from './system.ts';

interface Content {
  type: string;
  data: { leadId: string; version: number; name?: string };
}

/** An endpoint that verifies all that it is sent. */
async function openEndpoint() {
  let answer: (response: ServerResponse) => void = (response) => response.end();
  const endpoint = await forTest(startRecordingEndpoint<Content>((response) => answer(response)));
  return {
    ...endpoint,
    answerWith: (next: typeof answer) => (answer = next),
    verify: (secret: string) => {
      for (const { body, headers } of endpoint.messages)
        new Webhook(secret).verify(body, headers as Record<string, string>);
    },
  };
}

const started = (options: SystemOptions = {}): Promise<System> => forTest(startSystem(options));

async function submit(system: System, code: string, body: object): Promise<string> {
  const { status, leadId } = await post(system.receivers[0], code, body);
  expect(status).toBe(202);
  return leadId;
}

interface Created {
  id: string;
  secret: string;
}

test('a posted lead reaches an endpoint, signed; one that was down or whose deliverer was killed gets it again under the same id', async () => {
  const system = await started();
  const { workspace, code } = await system.openLink();
  const endpoint = await openEndpoint();
  const name = 'crm';
  const { secret } = await system.cli<Created>('endpoint', 'create', workspace, name, endpoint.url);
  let deliverer = await system.startDeliverer({ LANE_LEASE_MS: '1000' });

  expect(await system.cli('endpoint', 'test', name)).toMatchObject({
    ...{ outcome: 'delivered', status: 200 },
  });
  const leadId = await submit(system, code, { email: 'ana@example.com', name: 'Ana' });
  await vi.waitFor(() => expect(endpoint.messages).toHaveLength(2), 10_000);
  expect(endpoint.messages.map(({ content }) => content.type)).toEqual([
    'endpoint.test',
    'lead.created',
  ]);
  expect(endpoint.messages[1]?.content.data).toMatchObject({ leadId, version: 1, name: 'Ana' });

  // Killed before the answer.
  endpoint.answerWith(() => undefined);
  await submit(system, code, { email: 'ana@example.com', name: 'Ana Maria' });
  await vi.waitFor(() => expect(endpoint.messages).toHaveLength(3), 10_000);
  await deliverer.stop('SIGKILL');
  endpoint.answerWith((response) => response.end());
  deliverer = await system.startDeliverer();
  await vi.waitFor(() => expect(endpoint.messages).toHaveLength(4), 10_000);
  const [, , killed, again] = endpoint.messages;
  expect(again?.headers['webhook-id']).toBe(killed?.headers['webhook-id']);
  expect(again?.content).toEqual(killed?.content);

  // Down, then up.
  await endpoint.close();
  await submit(system, code, { email: 'ana@example.com', name: 'Ana Clara' });
  await vi.waitFor(
    async () =>
      expect(
        await system.query("SELECT 1 FROM delivery_attempt WHERE outcome = 'no-connection'"),
      ).not.toEqual([]),
    10_000,
  );
  await endpoint.listen();
  await vi.waitFor(() => expect(endpoint.messages).toHaveLength(5), 15_000);
  expect(endpoint.messages[4]?.content.data).toMatchObject({
    leadId,
    version: 3,
    name: 'Ana Clara',
  });

  // What its owner lost is told once more, under an id of its own.
  expect(await system.cli('delivery', 'resend', leadId, '--endpoint', name)).toMatchObject({
    resent: 1,
  });
  await vi.waitFor(() => expect(endpoint.messages).toHaveLength(6), 10_000);
  expect(endpoint.messages[5]?.content.data).toEqual(endpoint.messages[4]?.content.data);
  expect(endpoint.messages[5]?.headers['webhook-id']).not.toBe(
    endpoint.messages[4]?.headers['webhook-id'],
  );
  await vi.waitFor(
    async () =>
      expect(await system.cli('endpoint', 'stats', name)).toMatchObject({
        waiting: 0,
        setAside: 0,
      }),
    { timeout: 10_000, interval: 500 },
  );
  expect(await system.cli('endpoint', 'tries', name, '--limit', '1')).toMatchObject([
    { leadId, outcome: 'delivered', status: 200 },
  ]);
  expect(await system.cli('delivery', 'list', '--endpoint', name)).toMatchObject([
    { leadId, state: 'delivered', deliveredVersion: 3 },
  ]);
  endpoint.verify(secret);
  expect(await deliverer.stop()).toBe(0);
  expect(deliverer.output()).not.toMatch(/ana@example|Ana|whsec/);
}, 90_000);

test('a lead that two requests change at once is told as it stands, a merge names who ended, and an erasure says so', async () => {
  const env = { ERASURE_KEY: 'a key of thirty-two characters or more' };
  const system = await started({ workerEnv: env, cliEnv: { ...env, LEADGATE_OPERATOR: 'tests' } });
  const { workspace, code } = await system.openLink();
  const endpoint = await openEndpoint();
  const { secret } = await system.cli<Created>(
    'endpoint',
    'create',
    workspace,
    'crm',
    endpoint.url,
  );
  await system.startDeliverer();
  const [ana, bia] = await Promise.all([
    submit(system, code, { email: 'ana@example.com', name: 'Ana' }),
    submit(system, code, { email: 'bia@example.com', name: 'Bia' }),
  ]);
  await system.settle();
  await vi.waitFor(() => expect(endpoint.messages.length).toBeGreaterThanOrEqual(2), 10_000);
  await system.cli('lead', 'merge', ana, bia);
  await vi.waitFor(
    () =>
      expect(endpoint.messages.at(-1)?.content).toMatchObject({
        type: 'lead.merged',
        data: { leadId: ana, mergedLeads: [{ leadId: bia, version: 2 }] },
      }),
    10_000,
  );
  await system.cli('lead', 'erase', ana, '--reason', 'a test');
  await vi.waitFor(
    () =>
      expect(endpoint.messages.at(-1)?.content).toMatchObject({
        type: 'lead.erased',
        data: { leadId: ana, version: 3, mergedLeads: [{ leadId: bia }] },
      }),
    10_000,
  );
  expect(endpoint.messages.at(-1)?.body).not.toMatch(/ana|bia/i);
  endpoint.verify(secret);
}, 60_000);

test('whenever a deliverer to HubSpot is killed, each person is one contact in the end, as the lead stands, though what was cut is taken late', async () => {
  const token = 'pat-na1-token-of-the-tests';
  const folder = folderForTest();
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, token);
  const hub = await forTest(startFakeHubSpot(token));
  const system = await started();
  const { workspace, code } = await system.openLink();
  const hubspot = ['--kind', 'hubspot', '--token-file', tokenFile];
  await system.cli('endpoint', 'create', workspace, 'hub', hub.url, ...hubspot);
  const startDeliverer = () => system.startDeliverer({ LANE_LEASE_MS: '1000' });

  const people = Array.from({ length: 6 }, (_, at) => `p${at}@example.com`);
  const tell = async (name: string, whom = people) => {
    for (const email of whom) await submit(system, code, { email, name });
    await system.settle();
  };
  const names = () => hub.properties().map(({ firstname }) => firstname);
  const all = (name: string) => people.map(() => name);

  let cut = 0;
  let deliverer = await startDeliverer();
  const killedWhen = async (name: string, whom: string[], onUpsert: (take: () => void) => void) => {
    const before = cut;
    hub.holdWith((take) => {
      cut += 1;
      onUpsert(take);
    });
    await tell(name, whom);
    await vi.waitFor(() => expect(cut).toBeGreaterThan(before + 1), 15_000);
    await deliverer.stop('SIGKILL');
    hub.holdWith(null);
    deliverer = await startDeliverer();
  };
  const late: (() => void)[] = [];
  // Until it is confirmed that nothing old was taken after what is known, news waits: whoever is cut by
  // the first kill is not sent again before the second, which therefore needs others to cut.
  await killedWhen('Taken late', people.slice(0, 3), (take) => void late.push(take));
  await killedWhen('Taken without an answer', people, (take) => take());
  await tell('Last');
  for (const take of late) take();
  const soon = `WITH due AS (UPDATE delivery SET due_at = now() WHERE due_at IS NOT NULL RETURNING 1)
    SELECT pg_notify('leadgate_deliveries', '') FROM due`;
  const unfinished = `SELECT FROM delivery
    WHERE due_at IS NOT NULL OR delivered_version IS DISTINCT FROM version`;
  await vi.waitFor(
    async () => {
      await system.query(soon);
      expect(await system.query(unfinished)).toEqual([]);
    },
    { timeout: 30_000, interval: 1_000 },
  );
  expect(names()).toEqual(all('Last'));
  // Each change once, what was cut once more, and each person once more to be sure, for each that was killed.
  expect(hub.times.length).toBeLessThanOrEqual(3 * people.length + cut + 2 * people.length);
  expect(hub.refused).toEqual([]);
  expect(await deliverer.stop()).toBe(0);
  expect(deliverer.output()).not.toMatch(/p\d@example|Last|pat-na1/);
}, 120_000);
