import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { forTest } from '@leadgate/testkit';
import { startProxy } from './proxy.ts';
import { startSystem } from './system.ts';

async function behindProxy() {
  const system = await forTest(
    startSystem({ receiverEnv: { TRUST_PROXY: 'uniquelocal,loopback' } }),
  );
  const proxy = await forTest(startProxy(system.receivers.map(({ url }) => url)));
  return { system, proxy, ...(await system.openLink()) };
}

/** Posts from an address of this machine: 127.0.0.0/8 is all loopback. */
async function postFrom(
  localAddress: string,
  url: string,
  headers: Record<string, string> = {},
): Promise<number | undefined> {
  const post = request(url, {
    method: 'POST',
    localAddress,
    agent: false,
    headers: { 'content-type': 'application/json', ...headers },
    timeout: 10_000,
  });
  post.end('{"name":"Ana"}');
  const [response] = (await once(post, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

test('a sender behind the proxy cannot say which address it has', async () => {
  const { system, proxy, code } = await behindProxy();
  const forged = { 'x-forwarded-for': '203.0.113.7', forwarded: 'for=203.0.113.7' };
  expect(await postFrom('127.0.0.9', `${proxy.url}/ingest/${code}`, forged)).toBe(202);
  await system.settle();
  expect(await system.query('SELECT host(address::inet) AS address FROM submission')).toEqual([
    { address: '127.0.0.9' },
  ]);
}, 60_000);

test('one machine with thousands of idle connections does not shut the intake for others', async () => {
  const { proxy, code } = await behindProxy();
  const { port } = new URL(proxy.url);
  const idle: Socket[] = [];
  onTestFinished(() => {
    for (const socket of idle) socket.destroy();
  });
  let refused = 0;
  for (let batch = 0; batch < 42; batch++) {
    const opening = Array.from({ length: 100 }, () => {
      const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress: '127.0.0.8' });
      idle.push(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => refused++);
      socket.write('POST /ingest/');
      return once(socket, 'connect').catch(() => undefined);
    });
    await Promise.all(opening);
  }
  await expect.poll(() => refused).toBeGreaterThan(3_000);
  expect(await postFrom('127.0.0.9', `${proxy.url}/ingest/${code}`)).toBe(202);
}, 60_000);

test('how the receivers are is not told to the public', async () => {
  const { proxy, system } = await behindProxy();
  const paths = ['/ready', '/live', '/ready?x', '//ready', '/%72eady', '/metrics', '/'];
  for (const path of [...paths, '/ingest/../ready', '/ingest/%2e%2e/ready'])
    expect([path, await statusOf(proxy.url, path)]).toEqual([path, 404]);
  for (const path of ['/capture.js', '/proxy-live'])
    expect([path, await statusOf(proxy.url, path)]).toEqual([path, 200]);
  const [receiver] = system.receivers;
  expect(await statusOf(receiver?.url ?? '', '/ready')).toBe(200);
}, 60_000);

/** Of a GET whose path is sent as it is: `fetch` would shorten it. */
async function statusOf(url: string, path: string): Promise<number | undefined> {
  const asked = request(url, { path, agent: false });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}
