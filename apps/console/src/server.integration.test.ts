import { createLogger } from '@leadgate/boot';
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { createServer } from './server.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A console's server with a route for forms, one for files, and a gate that lets `?in` pass. */
async function listen(): Promise<number> {
  const logger = createLogger({ name: 'test', level: 'silent', pretty: false });
  const app = createServer({ trustProxy: [], receiveWithinMs: 300 }, logger);
  app.addHook('onRequest', async (request, reply) =>
    request.url.includes('?in') ? undefined : reply.code(401).send('sign in'),
  );
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.post('/form', ({ body }) => body);
  app.get('/long', async (_request, reply) => {
    await delay(1_000);
    return reply.send('whole');
  });
  app.post('/file', {
    onRequest: (request, _reply, done) => {
      clearTimeout(request.receiveTimer ?? undefined);
      done();
    },
    handler: ({ body }) => body,
  });
  closers.push(() => app.close());
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as AddressInfo).port;
}

/** Sends a head that promises ten bytes, and one of them. */
function sendSlowly(port: number, path: string): Socket & { received: string } {
  const socket = Object.assign(connect(port, '127.0.0.1'), { received: '' });
  closers.push(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => (socket.received += String(chunk)));
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: console\r\ncontent-type: x/y\r\ncontent-length: 10\r\n\r\n0`,
  );
  return socket;
}

test('a slow body is cut off, signed in or not; a file that an operator sends is not', async () => {
  const port = await listen();
  const file = sendSlowly(port, '/file?in');
  const slow = ['/form?in', '/form', '/file', '/nothing'].flatMap((path) =>
    Array.from({ length: 12 }, () => sendSlowly(port, path)),
  );
  await Promise.all(slow.map((socket) => once(socket, 'close')));
  expect(file.destroyed).toBe(false);
  file.write('123456789');
  await expect.poll(() => file.received).toContain('0123456789');
});

test('an answer takes as long as it takes', async () => {
  const port = await listen();
  expect(await (await fetch(`http://127.0.0.1:${port}/long?in`)).text()).toBe('whole');
});
