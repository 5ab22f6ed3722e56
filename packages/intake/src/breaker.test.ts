import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createBreaker, RedisAvoided, type Breaker } from './accept.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const failing = () => Promise.reject(new Error('OOM full'));

async function broken(): Promise<Breaker> {
  const breaker = createBreaker();
  for (let i = 0; i < 5; i++) await expect(breaker.run(failing)).rejects.toThrow('OOM full');
  return breaker;
}

test('failures with an answer between them do not keep anybody from asking', async () => {
  const breaker = createBreaker();
  for (let i = 0; i < 20; i++) {
    await expect(breaker.run(failing)).rejects.toThrow('OOM full');
    expect(await breaker.run(() => Promise.resolve(i))).toBe(i);
  }
});

test('after five failures in a row nobody waits for Redis, and all hear of the reason', async () => {
  const breaker = await broken();
  const ask = vi.fn(failing);
  const refused = breaker.run(ask);
  await expect(refused).rejects.toBeInstanceOf(RedisAvoided);
  await expect(refused).rejects.toMatchObject({ cause: { message: 'OOM full' } });
  expect(ask).not.toHaveBeenCalled();
});

test('one asks again while the others still do not wait; its answer lets all of them', async () => {
  const breaker = await broken();
  vi.advanceTimersByTime(501);
  let answer = (): void => undefined;
  const trying = breaker.run(() => new Promise<void>((resolve) => (answer = resolve)));
  await expect(breaker.run(() => Promise.resolve())).rejects.toBeInstanceOf(RedisAvoided);
  answer();
  await trying;
  expect(await breaker.run(() => Promise.resolve('asked'))).toBe('asked');
});

test('one that fails again has all of them avoid Redis for as long again', async () => {
  const breaker = await broken();
  vi.advanceTimersByTime(501);
  await expect(breaker.run(failing)).rejects.toThrow('OOM full');
  vi.advanceTimersByTime(400);
  await expect(breaker.run(failing)).rejects.toBeInstanceOf(RedisAvoided);
  vi.advanceTimersByTime(101);
  expect(await breaker.run(() => Promise.resolve('asked'))).toBe('asked');
});
