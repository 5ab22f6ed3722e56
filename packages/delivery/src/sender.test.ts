import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createGuard } from './guard.ts';
import { createSender } from './sender.ts';

const closes: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closes.splice(0)) await close();
});

async function urlOf(server: Server | ReturnType<typeof createTcpServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closes.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        if ('closeAllConnections' in server) server.closeAllConnections();
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const listening = (listener: RequestListener) => urlOf(createServer(listener));

function sender(timeoutMs = 5_000) {
  const guard = createGuard({ allowNetworks: ['127.0.0.0/8'] });
  const created = createSender(guard, { connections: 1, timeoutMs });
  closes.push(created.close);
  return created;
}

test('a body is posted with its headers, and the answer read', async () => {
  const got: unknown[] = [];
  const url = await listening((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      got.push([request.method, request.headers['webhook-id'], body]);
      response.writeHead(503, { 'retry-after': '7' }).end('wait');
    });
  });
  const result = await sender().post(url, { 'webhook-id': 'msg_1' }, '{"name":"José"}');
  expect(got).toEqual([['POST', 'msg_1', '{"name":"José"}']]);
  expect(result).toMatchObject({ kind: 'answered', status: 503, retryAfter: '7', answer: 'wait' });
});

test('an answer is read to 8 KiB, however long it goes on', async () => {
  const url = await listening((request, response) => {
    request.resume();
    const write = () => {
      while (!response.destroyed && response.write('x'.repeat(4_096)));
    };
    response.writeHead(200).on('drain', write);
    write();
  });
  const result = await sender().post(url, {}, '{}');
  expect(result).toMatchObject({ kind: 'answered', status: 200 });
  expect(result.kind === 'answered' && result.answer.length).toBe(8 * 1024);
});

test('an endpoint that never answers has its time, and no more', async () => {
  const url = await listening((request) => request.resume());
  expect(await sender(300).post(url, {}, '{}')).toMatchObject({ kind: 'timeout' });
});

test('an endpoint that answers a byte at a time has the same time', async () => {
  const drip: NodeJS.Timeout[] = [];
  closes.push(async () => drip.forEach(clearInterval));
  const url = await listening((request, response) => {
    request.resume();
    response.writeHead(200);
    drip.push(setInterval(() => response.write('x'), 20));
  });
  expect(await sender(300).post(url, {}, '{}')).toMatchObject({ kind: 'timeout' });
});

test('an endpoint that dies in the middle of a 200 has not said yes', async () => {
  const url = await urlOf(
    createTcpServer((socket: Socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () =>
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nthe beginning'),
      );
    }),
  );
  expect(await sender().post(url, {}, '{}')).toMatchObject({ kind: 'broken-answer' });
});

test('what is no HTTP is told from no answer', async () => {
  const url = await urlOf(
    createTcpServer((socket: Socket) => {
      socket.on('error', () => undefined);
      socket.resume();
      socket.end('SSH-2.0-OpenSSH_9.2\r\n');
    }),
  );
  expect(await sender().post(url, {}, '{}')).toMatchObject({ kind: 'broken-answer' });
});

test('a port on which nothing listens is told by its code', async () => {
  const result = await sender().post('http://127.0.0.1:1/', {}, '{}');
  expect(result).toMatchObject({ kind: 'no-connection', detail: 'ECONNREFUSED' });
});
