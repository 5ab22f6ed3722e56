import { expect, test, vi } from 'vitest';
import { startMaintenance, type MaintenanceTask } from './maintenance.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Runs rounds until the tasks were asked `rounds` times. */
async function runRounds(tasks: MaintenanceTask[], rounds: number) {
  const logger = { info: vi.fn(), warn: vi.fn() };
  let waits = 0;
  let maintenance: ReturnType<typeof startMaintenance> | undefined = undefined;
  await new Promise<void>((resolve) => {
    maintenance = startMaintenance({
      tasks,
      pauseMs: 1_000,
      deadlineMs: 20,
      wait: async () => {
        await turn();
        if (++waits === rounds) resolve();
      },
      logger,
    });
  });
  await (maintenance as ReturnType<typeof startMaintenance> | undefined)?.close();
  return logger;
}

test('a task that keeps failing is logged once, keeps no other from running, and once it works', async () => {
  let failures = 3;
  const other = vi.fn(() => Promise.resolve(null));
  const logger = await runRounds(
    [
      {
        name: 'refill',
        run: () => (failures-- > 0 ? Promise.reject(new Error('away')) : Promise.resolve(null)),
      },
      { name: 'other', run: other },
    ],
    5,
  );
  expect(logger.warn).toHaveBeenCalledTimes(1);
  expect(logger.info.mock.calls).toEqual([[{ task: 'refill' }, 'task works again']]);
  expect(other.mock.calls.length).toBeGreaterThanOrEqual(5);
});

test('what wakes it while it waits begins a round, and while a round is under way the next one', async () => {
  const run = vi.fn(() => Promise.resolve(null));
  const waits: AbortSignal[] = [];
  const maintenance = startMaintenance({
    tasks: [{ name: 'refill', run }],
    pauseMs: 1_000,
    deadlineMs: 20,
    wait: (_, signal) => {
      waits.push(signal);
      return new Promise((_resolve, reject) => {
        if (signal.aborted) reject(new Error('woken'));
        signal.addEventListener('abort', () => reject(new Error('woken')));
      });
    },
    logger: { info: vi.fn(), warn: vi.fn() },
  });
  await vi.waitFor(() => expect(waits).toHaveLength(1));
  run.mockImplementationOnce(() => {
    maintenance.wake();
    return Promise.resolve(null);
  });
  maintenance.wake();
  await vi.waitFor(() => expect(waits).toHaveLength(3));
  expect(run).toHaveBeenCalledTimes(3);
  await maintenance.close();
});

test('only a task that did something is in the log', async () => {
  const logger = await runRounds(
    [
      { name: 'idle', run: () => Promise.resolve(null) },
      { name: 'busy', run: () => Promise.resolve({ links: 3 }) },
    ],
    1,
  );
  expect(logger.info).toHaveBeenCalledWith(
    { task: 'busy', links: 3, ms: expect.any(Number) as number },
    'task done',
  );
  expect(JSON.stringify(logger.info.mock.calls)).not.toContain('idle');
});

test('a task that says how often runs no more often than that', async () => {
  const [hourly, always] = [vi.fn(() => Promise.resolve(null)), vi.fn(() => Promise.resolve(null))];
  await runRounds(
    [
      { name: 'hourly', everyMs: 3_600_000, run: hourly },
      { name: 'always', run: always },
    ],
    5,
  );
  expect(hourly).toHaveBeenCalledTimes(1);
  expect(always.mock.calls.length).toBeGreaterThanOrEqual(5);
});

test('closing waits for the task that runs, and starts no other', async () => {
  let finish = (): void => {};
  const running = new Promise<null>((resolve) => (finish = () => resolve(null)));
  const other = vi.fn(() => Promise.resolve(null));
  const maintenance = startMaintenance({
    tasks: [
      { name: 'slow', run: () => running },
      { name: 'other', run: other },
    ],
    pauseMs: 1,
    deadlineMs: 60_000,
    wait: turn,
    logger: { info: vi.fn(), warn: vi.fn() },
  });
  const closed = vi.fn();
  const closing = maintenance.close().then(closed);
  await turn();
  expect(closed).not.toHaveBeenCalled();
  finish();
  await closing;
  expect(other).not.toHaveBeenCalled();
});

test('a task that never ends keeps no other from running, is told of once, and is not begun again meanwhile', async () => {
  const stuck = vi.fn(() => new Promise<never>(() => {}));
  const other = vi.fn(() => Promise.resolve(null));
  const logger = await runRounds(
    [
      { name: 'stuck', run: stuck },
      { name: 'other', run: other },
    ],
    3,
  );
  expect(other).toHaveBeenCalledTimes(3);
  expect(stuck).toHaveBeenCalledTimes(1);
  expect(logger.warn.mock.calls).toEqual([
    [{ task: 'stuck', ms: 20 }, 'task takes long; the others go on'],
  ]);
});
