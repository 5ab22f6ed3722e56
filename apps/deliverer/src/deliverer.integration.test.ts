import type { ServerResponse } from 'node:http';
import { randomUUID } from 'node:crypto';
import { createLogger, Keyring, readConfig } from '@leadgate/boot';
import { LEAD_EVENTS, type Lead, type Submission } from '@leadgate/contract';
import { newSecret } from '@leadgate/delivery';
import {
  ALARM_KINDS,
  applyGroup,
  askEndpointTest,
  createEndpoint,
  endpointsNearTheirEnd,
  findEndpoint,
  type FoundAlarm,
  listAlarms,
  openAlarms,
  openStore,
  rotateEndpointSecret,
  setEndpointState,
  settleAlarms,
  updateEndpoint,
  type EndpointSettings,
  type Store,
} from '@leadgate/store';
import { sampleSubmission, startRecordingEndpoint, testDatabase } from '@leadgate/testkit';
import pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DelivererConfig } from './config.ts';
import { startDeliverer } from './start-deliverer.ts';

const SECRETS_KEY = 'a key of thirty-two characters or more';
const keyring = new Keyring(SECRETS_KEY);

const closes: (() => unknown)[] = [];
let databaseUrl: string;
let store: Store;
let workspaceId: string;
beforeEach(async () => {
  const database = await testDatabase();
  databaseUrl = database.url;
  closes.push(() => database.drop());
  store = openStore({ url: databaseUrl, poolSize: 4 });
  closes.push(() => store.close());
  workspaceId = randomUUID();
  await store.prisma.workspace.create({ data: { id: workspaceId, name: 'Agency' } });
});
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

interface Content {
  type: string;
  timestamp: string;
  data: { leadId: string; version: number } & Lead;
}

async function receiver(answer?: Parameters<typeof startRecordingEndpoint>[0]) {
  const started = await startRecordingEndpoint<Content>(answer);
  closes.push(() => started.close());
  return started;
}

async function endpoint(url: string, given: Partial<EndpointSettings> = {}) {
  const secret = newSecret();
  const settings = {
    ...{ name: randomUUID().slice(0, 8), url, headers: {}, events: [...LEAD_EVENTS], linkIds: [] },
    ...{ mapping: null, perSecond: null, concurrency: 4, ...given },
  };
  const made = await createEndpoint(store, workspaceId, settings, { secret, keyring });
  if (made.kind !== 'done') throw new Error(made.kind);
  return { id: made.endpoint.id, secret };
}

async function deliverer(env: Record<string, string> = {}) {
  const lines: string[] = [];
  const list: (() => unknown)[] = [];
  const config = readConfig(DelivererConfig, {
    ...{
      DATABASE_URL: databaseUrl,
      SECRETS_KEY,
      DELIVERER_HOST: '127.0.0.1',
      DELIVERER_PORT: '0',
    },
    ...{ DELIVERY_ALLOW_NETWORKS: '127.0.0.0/8', LOG_LEVEL: 'debug', ...env },
  });
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({ name: 'deliverer', level: config.LOG_LEVEL, destination });
  const stop = async () => {
    for (const close of list.splice(0).reverse()) await close();
  };
  closes.push(stop);
  const { port } = await startDeliverer(config, {
    logger,
    onClose: (_, close) => list.push(close),
  });
  return { url: `http://127.0.0.1:${port}`, log: () => lines.join(''), stop };
}

let n = 0;
async function post(changes: Partial<Submission>[]): Promise<void> {
  const items = changes.map((change) => {
    n += 1;
    const order = 1_800_000_000_000_000 + n * 1_000;
    const submission = sampleSubmission(n, {
      ...{ id: randomUUID(), workspaceId, order, stamp: order, identities: [] },
      ...change,
    });
    return { submission, replay: false };
  });
  await applyGroup(store, items);
}

const leads = (count: number) =>
  Array.from({ length: count }, () => ({ leadId: randomUUID(), lead: { name: 'Ana' } }));

const tries = (endpointId: string) =>
  store.prisma.deliveryAttempt.findMany({ where: { endpointId }, orderBy: { id: 'asc' } });

const nothingWaits = () =>
  vi.waitFor(
    async () =>
      expect(await store.prisma.delivery.count({ where: { dueAt: { not: null } } })).toBe(0),
    15_000,
  );

test('an outcome that Postgres refuses is said once, and written when it does not any more', async () => {
  const { url, messages } = await receiver();
  const { id } = await endpoint(url);
  await store.prisma
    .$executeRaw`ALTER TABLE delivery_attempt ADD CONSTRAINT refusing CHECK (false) NOT VALID`;
  const { log } = await deliverer();
  await post(leads(1));
  const refusals = () =>
    log()
      .split('\n')
      .filter((line) => line.includes('the deliveries of the endpoint stand still'));
  await vi.waitFor(() => expect(log().split('could not write')).toHaveLength(4), 10_000);
  expect(refusals().map((line) => JSON.parse(line) as object)).toMatchObject([
    { level: 50, endpointId: id },
  ]);
  await store.prisma.$executeRaw`ALTER TABLE delivery_attempt DROP CONSTRAINT refusing`;
  await nothingWaits();
  expect(await tries(id)).toMatchObject([{ outcome: 'delivered' }]);
  expect(messages).toHaveLength(1);
});

test('a lead is delivered as soon as it is stored, signed, as it stands', async () => {
  const { url, messages } = await receiver();
  const { id, secret } = await endpoint(url, { headers: { authorization: 'Bearer one' } });
  const { log } = await deliverer();
  const leadId = randomUUID();
  await post([{ leadId, lead: { name: 'José', email: 'jose@example.com' } }]);
  const committed = performance.now();
  await vi.waitFor(() => expect(messages).toHaveLength(1), { interval: 5 });
  const [message = expect.fail()] = messages;
  expect(message.at - committed).toBeLessThan(2_000);
  expect(
    new Webhook(secret).verify(message.body, message.headers as Record<string, string>),
  ).toEqual(message.content);
  expect(message.headers).toMatchObject({
    ...{ authorization: 'Bearer one', 'content-type': 'application/json' },
  });
  expect(message.content).toMatchObject({
    type: 'lead.created',
    data: { leadId, version: 1, workspaceId, name: 'José', email: 'jose@example.com' },
  });
  await nothingWaits();
  expect(await tries(id)).toMatchObject([
    { outcome: 'delivered', status: 200, leadId, version: 1 },
  ]);
  expect(log()).not.toMatch(/jose|José|whsec|Bearer/);
});

test('an endpoint that is down is tried again under the same id, and the log keeps nothing of the lead', async () => {
  const echo = (response: ServerResponse, count: number) => {
    if (count > 1) return response.end();
    return response.writeHead(500).end('no Ana, no ana@example.com (key 17)');
  };
  const { url, messages } = await receiver(echo);
  const { id, secret } = await endpoint(url);
  await deliverer();
  await post([{ leadId: randomUUID(), lead: { name: 'Ana', email: 'ana@example.com' } }]);
  await vi.waitFor(async () => expect(await tries(id)).toHaveLength(1));
  await store.prisma.delivery.updateMany({ data: { dueAt: new Date() } });
  await nothingWaits();
  expect(messages).toHaveLength(2);
  expect(messages[1]?.headers['webhook-id']).toBe(messages[0]?.headers['webhook-id']);
  for (const { body, headers } of messages)
    new Webhook(secret).verify(body, headers as Record<string, string>);
  expect(await tries(id)).toMatchObject([
    { outcome: 'answered', status: 500, detail: 'no …, no … (key 17)' },
    { outcome: 'delivered', status: 200 },
  ]);
});

test('no second has more sends than the rate, and 500 submissions of 20 people are 20 sends', async () => {
  const { url, messages } = await receiver();
  await endpoint(url, { perSecond: 4 });
  const people = leads(20);
  for (let round = 0; round < 25; round += 1)
    await post(people.map(({ leadId }) => ({ leadId, lead: { name: `Ana ${round}` } })));
  await deliverer();
  await nothingWaits();
  expect(messages).toHaveLength(20);
  for (const { content } of messages) expect(content.data.name).toBe('Ana 24');
  for (const [at, { at: first }] of messages.entries()) {
    const later = messages[at + 4];
    if (later !== undefined) expect(later.at - first).toBeGreaterThanOrEqual(1_000);
  }
});

test('an endpoint that hangs does not hold the others up', async () => {
  const hanging = await receiver(() => undefined);
  const others = await Promise.all(Array.from({ length: 4 }, () => receiver()));
  await endpoint(hanging.url, { concurrency: 2 });
  for (const { url } of others) await endpoint(url);
  await deliverer({ DELIVERY_TIMEOUT_MS: '60000' });
  await post(leads(30));
  await vi.waitFor(() => expect(hanging.messages).toHaveLength(2));
  await post(leads(30));
  await vi.waitFor(() => {
    for (const { messages } of others) expect(messages).toHaveLength(60);
  }, 10_000);
  expect(hanging.messages).toHaveLength(2);
});

test('an endpoint that fails is left alone after five failures, and probed by one', async () => {
  let well = false;
  const { url, messages } = await receiver((response) =>
    response.writeHead(well ? 200 : 500).end(),
  );
  const { id } = await endpoint(url, { concurrency: 1 });
  await deliverer();
  await post(leads(12));
  await vi.waitFor(async () =>
    expect(await findEndpoint(store, id)).toMatchObject({ state: 'active' }),
  );
  await vi.waitFor(() => expect(messages).toHaveLength(5));
  await vi.waitFor(async () => expect(await tries(id)).toHaveLength(5));
  const failing = await store.prisma.endpoint.findUniqueOrThrow({ where: { id } });
  expect(failing.failures).toBe(5);
  expect(failing.quietUntil?.getTime()).toBeGreaterThan(Date.now());
  expect(failing.failingSince).not.toBeNull();
  expect(messages).toHaveLength(5);
  well = true;
  await nothingWaits();
  expect(await findEndpoint(store, id)).toMatchObject({ failingSince: null, state: 'active' });
}, 40_000);

test('410 disables the endpoint, and what waits is sent when it is resumed', async () => {
  const { url, messages } = await receiver((response, count) =>
    response.writeHead(count === 1 ? 410 : 200).end(),
  );
  const { id } = await endpoint(url, { concurrency: 1 });
  await deliverer();
  await post(leads(3));
  await vi.waitFor(async () =>
    expect(await findEndpoint(store, id)).toMatchObject({
      ...{ state: 'disabled', reason: 'It answered 410: it is gone.' },
    }),
  );
  expect(messages).toHaveLength(1);
  await store.prisma.delivery.updateMany({ data: { dueAt: new Date() } });
  await setEndpointState(store, id, 'active');
  await nothingWaits();
  expect(messages).toHaveLength(4);
});

test('an endpoint that takes nothing is told of at 50, 70 and 90 % of three days, then disabled, and keeps what waits', async () => {
  const { url } = await receiver((response) => response.writeHead(500).end());
  const { id } = await endpoint(url, { concurrency: 1 });
  const { log, url: health } = await deliverer();
  await post(leads(2));
  await vi.waitFor(async () => expect((await tries(id)).length).toBeGreaterThan(0));
  // As the worker does that looks for alarms.
  const alarm = async () => {
    const near = await endpointsNearTheirEnd(store);
    const found = near.map(({ endpointId: subject, hours }): FoundAlarm => ({
      ...{ kind: 'deliveries', subject, workspaceId, facts: { hours } },
    }));
    await settleAlarms(store, ALARM_KINDS, found);
    // The doctor says so too.
    expect((await openAlarms(store)).deliveries).toBe(near.length);
    return listAlarms(store, { workspaceId }, 10);
  };
  const failingFor = async (share: number) => {
    const failingSince = new Date(Date.now() - share * 3 * 86_400_000);
    await store.prisma.endpoint.updateMany({ data: { failingSince, quietUntil: null } });
    await store.prisma.delivery.updateMany({ data: { dueAt: new Date() } });
  };
  const shares = async () => {
    const metrics = await (await fetch(`${health}/metrics`)).text();
    return ['50', '70', '90'].map((share) =>
      Number(
        new RegExp(`leadgate_endpoints_failing\\{share="${share}",.*\\} (\\d)`).exec(metrics)?.[1],
      ),
    );
  };
  const warnings = () =>
    log()
      .split('\n')
      .flatMap((line) => /"percent":(\d+)/.exec(line)?.[1] ?? []);

  expect(await shares()).toEqual([0, 0, 0]);
  expect(await alarm()).toEqual([]);
  const steps = [
    [0.51, ['50'], [1, 0, 0], 37],
    [0.71, ['50', '70'], [1, 1, 0], 51],
    [0.91, ['50', '70', '90'], [1, 1, 1], 66],
  ] as const;
  for (const [share, warned, gauges, hours] of steps) {
    await failingFor(share);
    await vi.waitFor(() => expect(warnings()).toEqual(warned), 5_000);
    await vi.waitFor(async () => expect(await shares()).toEqual(gauges), 5_000);
    const open = await alarm();
    expect(open).toMatchObject([{ kind: 'deliveries', subject: id }]);
    expect((await endpointsNearTheirEnd(store))[0]?.hours).toBe(hours);
  }
  await failingFor(1.01);
  await vi.waitFor(
    async () =>
      expect(await findEndpoint(store, id)).toMatchObject({
        ...{
          state: 'disabled',
          reason: 'It took nothing for three days; the last try: status 500.',
        },
      }),
    5_000,
  );
  expect(log()).toContain('an endpoint is disabled');
  const metrics = async () => (await fetch(`${health}/metrics`)).text();
  await vi.waitFor(
    async () => expect(await metrics()).toMatch(/leadgate_endpoints\{state="disabled",.*\} 1/),
    5_000,
  );
  expect(await alarm()).toMatchObject([{ kind: 'deliveries', subject: id }]);
  expect(await store.prisma.delivery.count({ where: { dueAt: { not: null } } })).toBe(2);

  // Once it is resumed, it has three days again.
  await setEndpointState(store, id, 'active');
  expect(await alarm()).toEqual([]);
});

test('Retry-After is obeyed, for the whole endpoint', async () => {
  const { url, messages } = await receiver((response, count) =>
    count === 1 ? response.writeHead(429, { 'retry-after': '2' }).end() : response.end(),
  );
  await endpoint(url, { concurrency: 1 });
  await deliverer();
  await post(leads(3));
  await nothingWaits();
  expect(messages).toHaveLength(4);
  expect((messages[1]?.at ?? 0) - (messages[0]?.at ?? 0)).toBeGreaterThanOrEqual(2_000);
});

test('a test is sent to a paused endpoint too, and what it answered is in the log', async () => {
  const { url, messages } = await receiver((response) =>
    response.writeHead(404).end('no such hook'),
  );
  const { id, secret } = await endpoint(url);
  await setEndpointState(store, id, 'paused');
  await deliverer();
  await post(leads(1));
  await askEndpointTest(store, id, randomUUID());
  await vi.waitFor(async () =>
    expect(await tries(id)).toMatchObject([
      { event: 'endpoint.test', status: 404, detail: 'no such hook', leadId: null },
    ]),
  );
  expect(messages.map(({ content }) => content.type)).toEqual(['endpoint.test']);
  const [message = expect.fail()] = messages;
  new Webhook(secret).verify(message.body, message.headers as Record<string, string>);
});

test('after a rotation both secrets verify, and a change of address is followed', async () => {
  const [first, second] = [await receiver(), await receiver()];
  const { id, secret } = await endpoint(first.url);
  await deliverer();
  await post(leads(1));
  await vi.waitFor(() => expect(first.messages).toHaveLength(1));
  const fresh = newSecret();
  await rotateEndpointSecret(store, id, { secret: fresh, keyring, overlapSeconds: 3_600 });
  await updateEndpoint(store, id, { url: second.url }, keyring);
  await post(leads(1));
  await vi.waitFor(() => expect(second.messages).toHaveLength(1));
  const [message = expect.fail()] = second.messages;
  for (const one of [secret, fresh])
    new Webhook(one).verify(message.body, message.headers as Record<string, string>);
});

test('an endpoint whose secret a deliverer cannot open is left to one that can, and that is said once', async () => {
  const { url, messages } = await receiver();
  const { id } = await endpoint(url);
  const { log } = await deliverer({ SECRETS_KEY: 'another key of thirty-two characters' });
  await post(leads(1));
  const told = () => log().split('nothing is sent to it').length - 1;
  await vi.waitFor(() => expect(told()).toBe(1), 5_000);
  await deliverer();
  await vi.waitFor(() => expect(messages).toHaveLength(1), { timeout: 60_000, interval: 50 });
  const { laneLostAt } = await store.prisma.endpoint.findUniqueOrThrow({ where: { id } });
  expect(laneLostAt).toBeNull();
  // Once each time that it was taken: the other one may come later.
  expect(told()).toBeLessThan(6);
}, 90_000);

test('an address inside is refused when it is called, and the log says why', async () => {
  const { url, messages } = await receiver();
  const { id } = await endpoint(url);
  await deliverer({ DELIVERY_ALLOW_NETWORKS: '' });
  await post(leads(1));
  await vi.waitFor(async () =>
    expect(await tries(id)).toMatchObject([
      { outcome: 'refused', status: null, detail: '127.0.0.1 is not public (loopback)' },
    ]),
  );
  expect(messages).toEqual([]);
});

test('deliverers share what there is, and no lead is sent by two of them', async () => {
  const receivers = await Promise.all(Array.from({ length: 6 }, () => receiver()));
  for (const { url } of receivers) await endpoint(url);
  await Promise.all([deliverer(), deliverer(), deliverer()]);
  for (let round = 0; round < 10; round += 1) await post(leads(20));
  await nothingWaits();
  for (const { messages } of receivers) {
    expect(messages).toHaveLength(200);
    expect(new Set(messages.map(({ headers }) => headers['webhook-id'])).size).toBe(200);
  }
});

test('a deliverer that is stopped lets sends end; one that hangs is sent again under the same id', async () => {
  let release: () => void = () => undefined;
  const { url, messages } = await receiver((response, count) => {
    if (count === 1) release = () => response.end();
    else if (count > 2) response.end();
  });
  const { id } = await endpoint(url, { concurrency: 2 });
  const first = await deliverer({ SHUTDOWN_TIMEOUT_MS: '1000' });
  await post(leads(2));
  await vi.waitFor(() => expect(messages).toHaveLength(2));
  const stopped = first.stop();
  release();
  await stopped;
  expect(await tries(id)).toMatchObject([{ outcome: 'delivered' }]);
  expect(messages).toHaveLength(2);
  await deliverer();
  await nothingWaits();
  expect(messages).toHaveLength(3);
  expect(messages[2]?.headers['webhook-id']).toBe(messages[1]?.headers['webhook-id']);
});

test('Postgres goes away and comes back: what was sent is written, and the rest is sent', async () => {
  const { url, messages } = await receiver();
  const { id } = await endpoint(url);
  const { log, url: health } = await deliverer();
  await post(leads(5));
  await nothingWaits();
  const admin = new pg.Client({ connectionString: databaseUrl });
  await admin.connect();
  await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`);
  await admin.end();
  await vi.waitFor(() => post(leads(5)), 10_000);
  await nothingWaits();
  const ids = new Set(messages.map(({ headers }) => headers['webhook-id']));
  expect(ids.size).toBeGreaterThanOrEqual(10);
  expect((await tries(id)).length).toBeGreaterThanOrEqual(10);
  expect(log()).not.toContain('"level":60');
  expect((await fetch(`${health}/ready`)).status).toBe(200);
  expect((await fetch(`${health}/live`)).status).toBe(200);
});

test('an alarm is told to endpoints that ask for it, signed, as it stands, and not of itself', async () => {
  const { url, messages } = await receiver();
  const { secret } = await endpoint(url, { events: ['alarm.opened', 'alarm.closed'] });
  await endpoint(url);
  const { id: own } = await endpoint(url, { events: ['alarm.opened'] });
  const linkId = randomUUID();
  await store.prisma.captureLink.create({ data: { id: linkId, workspaceId, label: 'Spring' } });
  const other = (await endpoint(url, { events: ['alarm.opened'], linkIds: [linkId] })).id;
  await deliverer();
  const alarm = { kind: 'deliveries', subject: own, workspaceId, facts: { hours: 40 } } as const;
  await settleAlarms(store, ALARM_KINDS, [alarm]);
  await settleAlarms(store, ALARM_KINDS, [alarm]);
  await vi.waitFor(() => expect(messages).toHaveLength(1), { interval: 5 });
  await settleAlarms(store, ALARM_KINDS, []);
  await vi.waitFor(() => expect(messages).toHaveLength(2), { interval: 5 });
  await nothingWaits();
  expect(messages.map(({ content }) => content)).toMatchObject([
    { type: 'alarm.opened', data: { kind: 'deliveries', subject: own, closedAt: null } },
    {
      type: 'alarm.closed',
      data: { facts: { hours: 40 }, closedAt: expect.any(String) as string },
    },
  ]);
  for (const { body, headers, content } of messages)
    expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual(content);
  expect(await tries(own)).toEqual([]);
  expect(await tries(other)).toEqual([]);
});
