import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createGuard } from '@leadgate/delivery';
import { createVerifyCaptcha } from './spam.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface StandIn {
  verifyUrl: string;
  asked: { type: string | undefined; body: string }[];
}

/** A CAPTCHA's service that answers everything with the same. */
async function standIn(answer: string | null, status = 200, location = ''): Promise<StandIn> {
  const asked: StandIn['asked'] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      asked.push({ type: request.headers['content-type'], body });
      if (answer !== null) response.writeHead(status, { location }).end(answer);
    });
  });
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return { verifyUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/verify`, asked };
}

const here = createGuard({ allowNetworks: ['127.0.0.0/8'] });

const ask = ({ verifyUrl }: { verifyUrl: string }, guard = here) =>
  createVerifyCaptcha(
    [verifyUrl],
    guard,
    (stored) => stored,
  )({ verifyUrl, secret: 's3cret' }, 'token & more');

test('a service is asked as all three are, and told neither who nor where the visitor is', async () => {
  const service = await standIn('{"success":true,"hostname":"x"}');
  expect(await ask(service)).toBe('passed');
  expect(service.asked).toEqual([
    {
      type: 'application/x-www-form-urlencoded;charset=UTF-8',
      body: 'secret=s3cret&response=token+%26+more',
    },
  ]);
});

test('a token that it does not know has failed', async () => {
  const answer = '{"success":false,"error-codes":["invalid-input-response"]}';
  expect(await ask(await standIn(answer))).toBe('failed');
});

test.each([
  ['{"success":false,"error-codes":["invalid-input-secret"]}', 200],
  ['{"success":"yes"}', 200],
  ['<html>', 200],
  ['', 500],
  [`{"success":true,"x":"${'x'.repeat(20_000)}"}`, 200],
])('what does not speak of the token (%#) is no answer', async (answer, status) => {
  expect(await ask(await standIn(answer, status))).toBe('unreachable');
});

test('a redirect is not followed: only the address that an operator gave is asked', async () => {
  const inside = await standIn('{"success":true}');
  expect(await ask(await standIn('', 307, inside.verifyUrl))).toBe('unreachable');
  expect(inside.asked).toEqual([]);
});

test('a service that does not answer holds up a visitor for two seconds at most', async () => {
  const start = performance.now();
  expect(await ask(await standIn(null))).toBe('unreachable');
  expect(performance.now() - start).toBeLessThan(4_000);
  expect(await ask({ verifyUrl: 'http://127.0.0.1:1/' })).toBe('unreachable');
});

test.each(['missing-input-secret', 'invalid-input-secret', 'internal-error'])(
  '%s is no fault of the visitor',
  async (code) => {
    const answer = JSON.stringify({ success: false, 'error-codes': [code] });
    expect(await ask(await standIn(answer))).toBe('unreachable');
  },
);

test.each([
  ...['sitekey-secret-mismatch', 'missing-input-response', 'timeout-or-duplicate', 'bad-request'],
  ...['invalid-or-already-seen-response', 'not-using-dummy-passcode', 'browser-error'],
])('%s lets nobody through', async (code) => {
  const answer = JSON.stringify({ success: false, 'error-codes': [code] });
  expect(await ask(await standIn(answer))).toBe('failed');
});

test('an address that is none of the services, nor named by the environment, is not asked', async () => {
  const inside = await standIn('{"success":true}');
  const verify = createVerifyCaptcha(['https://captcha.example.com/'], here, (stored) => stored);
  expect(await verify({ verifyUrl: inside.verifyUrl, secret: 's3cret' }, 'token')).toBe(
    'unreachable',
  );
  expect(inside.asked).toEqual([]);
});

test('a service that the environment names and that leads inside is not asked', async () => {
  const inside = await standIn('{"success":true}');
  expect(await ask(inside, createGuard({ allowNetworks: [] }))).toBe('unreachable');
  // Also one whose name leads there.
  const lookup: NonNullable<Parameters<typeof createGuard>[0]['lookup']> = (_, __, found) =>
    found(null, [{ address: '127.0.0.1', family: 4 }]);
  const named = { verifyUrl: 'https://captcha.example.com/verify' };
  expect(await ask(named, createGuard({ allowNetworks: [], lookup }))).toBe('unreachable');
  expect(inside.asked).toEqual([]);
});
