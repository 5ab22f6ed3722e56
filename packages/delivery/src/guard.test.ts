import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { createGuard, isNetwork, type LookupAll } from './guard.ts';
import { createSender, type Sender } from './sender.ts';

/** A server of this machine: whatever reaches it has come inside. */
let server: Server;
let reached = 0;
let port: number;
beforeAll(async () => {
  server = createServer((request, response) => {
    reached += 1;
    request.resume();
    if (request.url === '/redirect')
      response.writeHead(307, { location: `http://127.0.0.1:${port}/inside` }).end();
    else response.end('inside');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const senders: Sender[] = [];
afterEach(async () => {
  await Promise.all(senders.splice(0).map((sender) => sender.close()));
});

function senderWith(allowNetworks: string[], lookup?: LookupAll): Sender {
  const guard = createGuard({ allowNetworks, ...(lookup !== undefined && { lookup }) });
  const sender = createSender(guard, { connections: 1, timeoutMs: 3_000 });
  senders.push(sender);
  return sender;
}

/** Answers each look-up of a name with the next of these addresses, as DNS that rebinds does. */
function rebinding(...answers: string[][]): { lookup: LookupAll; asked: () => number } {
  let asked = 0;
  return {
    asked: () => asked,
    lookup: (_, __, callback) => {
      const addresses = answers[Math.min(asked, answers.length - 1)] ?? [];
      asked += 1;
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    },
  };
}

const INSIDE = [
  ['0.0.0.0', '10.1.2.3', '100.64.0.1', '100.100.100.200', '127.0.0.1', '127.8.9.10'],
  ['168.63.129.16', '169.254.169.254', '169.254.170.2', '172.16.0.1', '172.31.255.255'],
  ['192.0.0.192', '192.168.1.1', '198.18.0.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
  ['::', '::1', '::7f00:1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:a00:1', '::ffff:0:7f00:1'],
  ['64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::7f00:1', '100::1', '2002:7f00:1::'],
  ['2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001:db8::1', 'fd00:ec2::254', 'fdaa::3', 'fe80::1'],
  ['fe80::1%lo', 'fec0::1', 'ff02::1', '4000::1', '3fff::1', '5f00::1'],
].flat();

test.each(INSIDE)('a name that leads to %s leads nowhere', async (address) => {
  const { lookup } = rebinding([address]);
  for (const scheme of ['https', 'http']) {
    const sender = senderWith([], lookup);
    expect(await sender.post(`${scheme}://crm.example:${port}/`, {}, '{}')).toMatchObject({
      kind: 'refused',
    });
  }
});

test.each(INSIDE.filter((address) => !address.includes('%')))(
  'an address written out, %s, is refused when it is given and when it is called',
  async (address) => {
    const host = address.includes(':') ? `[${address}]` : address;
    const url = `https://${host}:${port}/`;
    expect(createGuard({ allowNetworks: [] }).faultOf(url)).toMatchObject({ code: 'inside' });
    expect(await senderWith([]).post(url, {}, '{}')).toMatchObject({ kind: 'refused' });
  },
);

test.each([
  ...['2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '127.1', '127.0.0.1.', '017700000001'],
  ...['１２７.０.０.１', '127。0。0。1', '[::ffff:7f00:1]', '[0:0:0:0:0:ffff:127.0.0.1]'],
])('loopback written as %s is still loopback', async (host) => {
  const url = `https://${host}:${port}/`;
  expect(createGuard({ allowNetworks: [] }).faultOf(url)).toMatchObject({ code: 'inside' });
  expect(await senderWith([]).post(url, {}, '{}')).toMatchObject({ kind: 'refused' });
});

test.each([
  'localhost',
  'api.localhost',
  'LOCALHOST.',
  'metadata.google.internal',
  'printer.local',
])('the name %s is one of this network', (host) => {
  const { faultOf } = createGuard({ allowNetworks: [] });
  expect(faultOf(`https://${host}/`)).toMatchObject({ code: 'inside' });
});

test('a name that answers something public first and something inside later is judged by what is called', async () => {
  const { lookup, asked } = rebinding(['192.0.2.7', '93.184.215.14'], ['127.0.0.1']);
  const sender = senderWith([], lookup);
  // Two look-ups, one a connection: each is refused for what it says itself.
  for (const _ of [1, 2])
    expect(await sender.post(`https://crm.example:${port}/`, {}, '{}')).toMatchObject({
      kind: 'refused',
    });
  expect(asked()).toBe(2);
});

test('one address inside is enough to call none of a name', async () => {
  const { lookup } = rebinding(['93.184.215.14', '10.0.0.1']);
  const result = await senderWith([], lookup).post('https://crm.example/', {}, '{}');
  expect(result).toMatchObject({
    kind: 'refused',
    detail: 'crm.example: 10.0.0.1 is not public (private)',
  });
});

test('a name whose server does not answer is looked up once at a time, however many sends want it', async () => {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const lookup: LookupAll = (hostname, _options, callback) => {
    asked.push(hostname);
    answers.push(() => callback(null, [{ address: '127.0.0.1', family: 4 }]));
  };
  const guard = createGuard({ allowNetworks: ['127.0.0.0/8'], lookup });
  const lanes = [1, 2].map(() => createSender(guard, { connections: 1, timeoutMs: 5_000 }));
  senders.push(...lanes);
  const send = (name: string) =>
    Promise.all(lanes.map((lane) => lane.post(`http://${name}:${port}/`, {}, '{}')));
  const sent = [send('slow.example'), send('crm.example')];
  await vi.waitFor(() => expect(asked).toEqual(['slow.example', 'crm.example']));
  for (const answer of answers) answer();
  for (const results of await Promise.all(sent))
    for (const result of results) expect(result).toMatchObject({ status: 200 });
});

test('a redirect is an answer and is not followed', async () => {
  const before = reached;
  const sender = senderWith(['127.0.0.0/8']);
  const result = await sender.post(`http://127.0.0.1:${port}/redirect`, {}, '{}');
  expect(result).toMatchObject({ kind: 'answered', status: 307 });
  expect(reached).toBe(before + 1);
});

test('a Host header names another site and changes nothing about what is called', async () => {
  const result = await senderWith([]).post(
    `https://127.0.0.1:${port}/`,
    { host: 'crm.example' },
    '{}',
  );
  expect(result.kind).toBe('refused');
});

test('a proxy of the environment is not asked', async () => {
  const variables = [
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'http_proxy',
    'https_proxy',
    'NODE_USE_ENV_PROXY',
  ];
  const before = reached;
  try {
    for (const name of variables) process.env[name] = `http://127.0.0.1:${port}`;
    const { lookup } = rebinding(['10.0.0.1']);
    const result = await senderWith([], lookup).post('https://crm.example/', {}, '{}');
    expect(result.kind).toBe('refused');
  } finally {
    for (const name of variables) Reflect.deleteProperty(process.env, name);
  }
  expect(reached).toBe(before);
});

test('no URL leads to a socket file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'leadgate-guard-'));
  const path = join(folder, 'inside.sock');
  let through = 0;
  const inside = createServer((_, response) => {
    through += 1;
    response.end();
  });
  await new Promise<void>((resolve) => inside.listen(path, resolve));
  const { faultOf } = createGuard({ allowNetworks: ['127.0.0.0/8'] });
  const encoded = encodeURIComponent(path);
  for (const url of [
    `unix:${path}`,
    `http+unix://${encoded}/`,
    `http://unix:${path}:/`,
    `file://${path}`,
  ]) {
    if (faultOf(url) === null) expect(new URL(url).hostname).toBe('unix');
    expect(await senderWith(['127.0.0.0/8']).post(url, {}, '{}')).not.toMatchObject({
      kind: 'answered',
    });
  }
  expect(through).toBe(0);
  await new Promise((resolve) => inside.close(resolve));
  rmSync(folder, { recursive: true });
});

test.each([
  ['ftp://crm.example/', 'scheme'],
  ['http://crm.example/', 'scheme'],
  ['javascript:alert(1)', 'scheme'],
  ['crm.example/hook', 'not-a-url'],
  ['https://me:secret@crm.example/', 'credentials'],
  ['https://me@crm.example/', 'credentials'],
  [`https://crm.example/${'a'.repeat(2_048)}`, 'too-long'],
])('%s is refused when it is given: %s', (url, code) => {
  expect(createGuard({ allowNetworks: [] }).faultOf(url)).toMatchObject({ code });
});

test.each(['https://crm.example/hook?a=1', 'https://8.8.8.8/', 'https://[2606:4700::1111]:8443/'])(
  '%s is not refused',
  (url) => {
    expect(createGuard({ allowNetworks: [] }).faultOf(url)).toBeNull();
  },
);

test('networks that are named are let through, those beside them are not', async () => {
  const sender = senderWith(['127.0.0.1/32'], rebinding(['127.0.0.1'], ['127.0.0.2']).lookup);
  expect(await sender.post(`http://crm.example:${port}/`, {}, '{}')).toMatchObject({
    kind: 'answered',
    status: 200,
    answer: 'inside',
  });
  expect(await sender.post(`http://other.example:${port}/`, {}, '{}')).toMatchObject({
    kind: 'refused',
  });
});

test('an exception for IPv4 holds for the same address mapped into IPv6', async () => {
  const sender = senderWith(['127.0.0.0/8']);
  expect(await sender.post(`http://[::ffff:127.0.0.1]:${port}/`, {}, '{}')).toMatchObject({
    kind: 'answered',
  });
});

test('plain http reaches named networks only', async () => {
  const { lookup } = rebinding(['93.184.215.14']);
  const result = await senderWith(['127.0.0.0/8'], lookup).post('http://crm.example/', {}, '{}');
  expect(result).toMatchObject({
    kind: 'refused',
    detail: 'crm.example: 93.184.215.14 is reached by https only',
  });
});

test('a network that is none is told at the start', () => {
  expect(() => createGuard({ allowNetworks: ['10.0.0.0'] })).toThrow('no network');
  expect(isNetwork('fd00::/8')).toBe(true);
  expect(isNetwork('10.0.0.0/33')).toBe(false);
});
