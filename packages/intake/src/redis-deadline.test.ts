import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRedisDeadline, RedisLate } from './accept.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const after = <T>(ms: number, value: T) =>
  new Promise<T>((resolve) => setTimeout(() => resolve(value), ms));

test('gives what Redis answered in time', async () => {
  const within = createRedisDeadline(700);
  const answer = within(after(699, 'PONG'));
  await vi.advanceTimersByTimeAsync(699);
  await expect(answer).resolves.toBe('PONG');
  expect(vi.getTimerCount()).toBe(0);
});

test('a Redis that never answers does not hold the sender', async () => {
  const within = createRedisDeadline(700);
  const answer = expect(within(new Promise(() => undefined))).rejects.toThrow(RedisLate);
  await vi.advanceTimersByTimeAsync(700);
  await answer;
});

test('all calls of a request share one allowance', async () => {
  const within = createRedisDeadline(700);
  const first = within(after(500, 1));
  await vi.advanceTimersByTimeAsync(500);
  await first;
  const second = expect(within(after(300, 2))).rejects.toThrow(RedisLate);
  await vi.advanceTimersByTimeAsync(201);
  await second;
});

test('time between calls, while a slow sender sends its body, is not counted', async () => {
  const within = createRedisDeadline(700);
  await vi.advanceTimersByTimeAsync(5_000);
  const answer = within(after(600, 1));
  await vi.advanceTimersByTimeAsync(600);
  await expect(answer).resolves.toBe(1);
});

test('an answer that fails after the deadline is nobody’s unhandled rejection', async () => {
  const within = createRedisDeadline(10);
  const failing = after(20, 0).then(() => Promise.reject(new Error('connection lost')));
  const answer = expect(within(failing)).rejects.toThrow(RedisLate);
  await vi.advanceTimersByTimeAsync(30);
  await answer;
});

test('an answer that came while the process stood still is in time, though its timer is first', async () => {
  vi.useRealTimers();
  const server = createServer((socket) => socket.end('PONG'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const answer = once(socket, 'data').then(() => 'PONG');
  await once(server, 'connection');
  const within = createRedisDeadline(30);
  const heard = within(answer);
  const start = performance.now();
  while (performance.now() - start < 200);
  await expect(heard).resolves.toBe('PONG');
  server.close();
});
