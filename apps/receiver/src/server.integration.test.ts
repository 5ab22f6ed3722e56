import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { CODE, type AppOptions, type ReceiverApp, openApp } from '../test/receiver.ts';

let receiver: ReceiverApp;
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

async function listen(options: AppOptions = {}): Promise<void> {
  receiver = await openApp(options);
  await receiver.app.listen({ host: '127.0.0.1', port: 0 });
}

/** A connection that keeps all it hears. */
async function open(): Promise<{ socket: Socket; heard: () => string; ended: Promise<unknown> }> {
  const { port } = receiver.app.server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  let text = '';
  socket.setEncoding('utf8').on('data', (data: string) => (text += data));
  socket.on('error', () => undefined);
  const ended = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  return { socket, heard: () => text, ended };
}

const head = (...headers: string[]): string =>
  [
    `POST /ingest/${CODE} HTTP/1.1`,
    'Host: x',
    'Content-Type: application/json',
    ...headers,
    '',
    '',
  ].join('\r\n');

const lead = '{"email":"ana@example.com"}';
const whole = head(`Content-Length: ${lead.length}`) + lead;

/** Answers so far, by status. */
const statuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));

describe('a body', () => {
  test('that is too large and tells no length gets its 413, though it is still being sent', async () => {
    await listen();
    const { socket, heard } = await open();
    socket.write(head('Transfer-Encoding: chunked'));
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
    for (let i = 0; i < 20; i += 1) socket.write(chunk);
    socket.write('0\r\n\r\n');
    await expect.poll(heard).toContain('"body-too-large"');
    expect(receiver.reserved).toEqual([]);

    // All of it was read, so the connection goes on.
    socket.write(whole);
    await expect.poll(() => statuses(heard())).toEqual([413, 202]);
  });

  test('without end is cut off', async () => {
    await listen();
    const { socket, ended } = await open();
    socket.write(head('Transfer-Encoding: chunked'));
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const pump = (): void => {
      while (socket.writable && socket.write(chunk));
      socket.once('drain', pump);
    };
    pump();
    await ended;
    // The 413 was sent; a sender that does not listen may see the reset instead.
    expect(receiver.answers).toEqual(['body-too-large']);
  });

  test('that says it is far too large is not waited for', async () => {
    await listen();
    const { socket, heard } = await open();
    socket.write(head('Content-Length: 100000000'));
    await expect.poll(() => statuses(heard())).toEqual([413]);
    expect(heard().toLowerCase()).toContain('connection: close');
  });

  test('that takes too long to arrive is 408, and holds no connection', async () => {
    await listen({ server: { REQUEST_TIMEOUT_MS: 200 } });
    const { socket, heard, ended } = await open();
    socket.write(head('Content-Length: 100') + '{"email":');
    await ended;
    expect(statuses(heard())).toEqual([408]);
    expect(heard()).toContain('"request-timeout"');
    expect(heard().toLowerCase()).toContain('access-control-allow-origin: *');
    expect(receiver.reserved).toEqual([]);
  });

  test('that is compressed is 415, before it is read', async () => {
    await listen();
    const { socket, heard } = await open();
    const body = gzipSync(lead);
    socket.write(head('Content-Encoding: gzip', `Content-Length: ${body.length}`));
    socket.write(body);
    await expect.poll(() => statuses(heard())).toEqual([415]);
    socket.write(whole);
    await expect.poll(() => statuses(heard())).toEqual([415, 202]);
  });

  test('whose sender goes away in the middle is no lead', async () => {
    await listen();
    const { socket } = await open();
    socket.write(head('Content-Length: 100') + lead);
    await expect.poll(() => connections()).toBe(1);
    socket.destroy();
    await expect.poll(() => connections()).toBe(0);
    expect(receiver.reserved).toEqual([]);
  });

  test('may arrive letter by letter, characters of several bytes cut apart', async () => {
    await listen();
    const { socket, heard } = await open();
    const body = Buffer.from('{"name":"Ana 🌸 שלום"}');
    socket.setNoDelay(true);
    socket.write(head(`Content-Length: ${body.length}`));
    for (const byte of body) {
      socket.write(Buffer.of(byte));
      await new Promise(setImmediate);
    }
    await expect.poll(() => statuses(heard())).toEqual([202]);
    expect(receiver.submission().lead.name).toBe('Ana 🌸 שלום');
  });
});

describe('what is no request', () => {
  test('is 400 in the same shape as any error', async () => {
    await listen();
    const { socket, heard, ended } = await open();
    socket.write('HELO mail.example.com\r\n\r\n');
    await ended;
    expect(statuses(heard())).toEqual([400]);
    expect(heard()).toContain('application/problem+json');
    expect(heard()).toContain('"malformed-request"');
  });

  test('for the size of its headers is 431', async () => {
    await listen();
    const { socket, heard, ended } = await open();
    socket.write(head(`Cookie: ${'x'.repeat(20_000)}`));
    await ended;
    expect(statuses(heard())).toEqual([431]);
  });
});

describe('closing', () => {
  test('is not held up by a connection that is kept alive', async () => {
    await listen();
    const { socket, heard, ended } = await open();
    socket.write(whole);
    await expect.poll(() => statuses(heard())).toEqual([202]);
    const start = performance.now();
    await receiver.app.close();
    await ended;
    expect(performance.now() - start).toBeLessThan(2_000);
  });

  test('answers the lead that is on its way, and ends its connection', async () => {
    let reserve = (): void => undefined;
    await listen({
      beforeReserve: () => new Promise((resolve) => (reserve = resolve)),
    });
    const { socket, heard, ended } = await open();
    let asked = false;
    receiver.app.server.once('request', () => (asked = true));
    socket.write(whole);
    await expect.poll(() => asked).toBe(true);
    const closed = receiver.app.close();
    await new Promise(setImmediate);
    reserve();
    await closed;
    await ended;
    expect(statuses(heard())).toEqual([202]);
  });
});

const connections = () =>
  new Promise<number>((resolve, reject) => {
    receiver.app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });
