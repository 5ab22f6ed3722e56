import { afterEach, beforeEach, describe, expect, test, vi, type MockInstance } from 'vitest';
import { createShutdown } from './shutdown.ts';

const logger = { info: vi.fn(), error: vi.fn(), fatal: vi.fn() };

let exit: MockInstance<typeof process.exit>;
beforeEach(() => {
  exit = vi.spyOn(process, 'exit').mockImplementation((() => undefined) as never);
});

const EVENTS = [
  'SIGTERM',
  'SIGINT',
  'SIGHUP',
  'SIGQUIT',
  'uncaughtException',
  'unhandledRejection',
];
const before = new Map(EVENTS.map((event) => [event, process.listeners(event as 'SIGTERM')]));
afterEach(() => {
  for (const [event, listeners] of before)
    for (const listener of process.listeners(event as 'SIGTERM'))
      if (!listeners.includes(listener)) process.removeListener(event, listener);
});

const exited = () => vi.waitFor(() => expect(exit).toHaveBeenCalled());

describe('a shutdown', () => {
  test('closes in reverse order, each after the one before, and exits with 0', async () => {
    const closed: string[] = [];
    const shutdown = createShutdown({ logger, timeoutMs: 5_000 });
    shutdown.add('redis', () => void closed.push('redis'));
    shutdown.add('queue', async () => {
      await new Promise((resolve) => setImmediate(resolve));
      closed.push('queue');
    });
    process.emit('SIGTERM', 'SIGTERM');
    await exited();
    expect(closed).toEqual(['queue', 'redis']);
    expect(shutdown.signal.aborted).toBe(true);
    expect(exit.mock.calls).toEqual([[0]]);
  });

  test('goes on after a close that fails, and exits with 1', async () => {
    const closed: string[] = [];
    const shutdown = createShutdown({ logger, timeoutMs: 5_000 });
    shutdown.add('redis', () => void closed.push('redis'));
    shutdown.add('queue', () => Promise.reject(new Error('jobs were still running')));
    process.emit('SIGINT', 'SIGINT');
    await exited();
    expect(closed).toEqual(['redis']);
    expect(exit).toHaveBeenCalledWith(1);
  });

  test('that hangs is ended in time, with 1, and names what hung', async () => {
    const shutdown = createShutdown({ logger, timeoutMs: 20 });
    shutdown.add('queue', () => new Promise<void>(() => {}));
    process.emit('SIGTERM', 'SIGTERM');
    await exited();
    expect(exit.mock.calls[0]).toEqual([1]);
    expect(logger.error).toHaveBeenCalledWith({ ms: 20, closing: 'queue' }, expect.anything());
  });

  test('is ended at once by a second signal, with 1', async () => {
    const shutdown = createShutdown({ logger, timeoutMs: 60_000 });
    shutdown.add('queue', () => new Promise<void>(() => {}));
    process.emit('SIGTERM', 'SIGTERM');
    process.emit('SIGINT', 'SIGINT');
    await exited();
    expect(exit.mock.calls[0]).toEqual([1]);
  });

  test('because of an error still closes, and exits with 1', async () => {
    const closed: string[] = [];
    const shutdown = createShutdown({ logger, timeoutMs: 5_000 });
    shutdown.add('redis', () => void closed.push('redis'));
    shutdown.start(new Error('out of luck'));
    await exited();
    expect(closed).toEqual(['redis']);
    expect(exit).toHaveBeenCalledWith(1);
  });
});
