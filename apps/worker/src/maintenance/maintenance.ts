import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@leadgate/boot';
import type { Wait } from '../group-commit.ts';

/** A thing to look after. Says what it did, for the log, or null when there was nothing to do. */
export interface MaintenanceTask {
  name: string;
  /** Milliseconds from one beginning to the next, at least; every round unless told. */
  everyMs?: number;
  run: () => Promise<Record<string, unknown> | null>;
}

interface Maintenance {
  /** Begins a round at once, or the next one when that which is under way has ended. */
  wake(): void;
  close(): Promise<void>;
}

/** A long refill is not worth a slow shutdown: cut off, it leaves the markers as they were. */
const PATIENCE_MS = 2_000;

/** Times the deadline: what has not ended by then never will, and is begun anew. */
const LOST_AFTER = 20;

/**
 * Runs the tasks one after the other, and again after `pauseMs` or once woken, until closed. A task that fails
 * is logged when it begins to fail and when it works again, and keeps no other from running. Nor does
 * one that takes longer than `deadlineMs`: the others go on, and it is not begun again before it ends.
 */
export function startMaintenance({
  tasks,
  pauseMs,
  deadlineMs,
  wait,
  logger,
}: {
  tasks: MaintenanceTask[];
  pauseMs: number;
  deadlineMs: number;
  wait: Wait;
  logger: Pick<Logger, 'info' | 'warn'>;
}): Maintenance {
  const closing = new AbortController();
  const failing = new Set<string>();
  const underWay = new Map<string, { since: number }>();
  const dueAt = new Map<string, number>();
  let woken = new AbortController();

  async function runInTime(task: MaintenanceTask): Promise<void> {
    const { name, everyMs = 0 } = task;
    if (performance.now() < (dueAt.get(name) ?? -Infinity)) return;
    const before = underWay.get(name);
    if (before !== undefined && performance.now() - before.since < LOST_AFTER * deadlineMs) return;
    const mine = { since: performance.now() };
    underWay.set(name, mine);
    dueAt.set(name, mine.since + everyMs);
    const running = run(task).then(() => {
      if (underWay.get(name) === mine) underWay.delete(name);
    });
    const timer = new AbortController();
    const passed = delay(deadlineMs, 'passed', { ref: false, signal: timer.signal });
    const outcome = await Promise.race([running, passed.catch(() => undefined)]);
    timer.abort();
    if (outcome === 'passed')
      logger.warn({ task: name, ms: deadlineMs }, 'task takes long; the others go on');
  }

  async function run({ name, run }: MaintenanceTask): Promise<void> {
    const start = performance.now();
    try {
      const done = await run();
      if (failing.delete(name)) logger.info({ task: name }, 'task works again');
      if (done !== null)
        logger.info(
          { task: name, ...done, ms: Math.round(performance.now() - start) },
          'task done',
        );
    } catch (err) {
      if (failing.has(name) || closing.signal.aborted) return;
      failing.add(name);
      logger.warn({ task: name, err }, 'task failed; trying again');
    }
  }

  async function loop(): Promise<void> {
    while (!closing.signal.aborted) {
      woken = new AbortController();
      const ended = AbortSignal.any([closing.signal, woken.signal]);
      for (const task of tasks) if (!closing.signal.aborted) await runInTime(task);
      await wait(pauseMs, ended).catch(() => {});
    }
  }

  const looping = loop();
  return {
    wake: () => woken.abort(),
    async close() {
      closing.abort();
      await Promise.race([looping, delay(PATIENCE_MS, undefined, { ref: false })]);
    },
  };
}
