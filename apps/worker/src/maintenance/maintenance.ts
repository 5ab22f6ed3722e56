import type { RedisConnection, Logger } from '@leadgate/boot';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Wait } from '../group-commit.ts';

/** One that never ends was put back by a dump: its holder may be long gone. */
const HOLD = `local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] and redis.call('PTTL', KEYS[1]) > 0 then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;
const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

/** Of several tasks that want it in one round, one asks who has it. */
const ASK_AGAIN_MS = 500;

/**
 * What one process at a time has, for as long as it lives and a little longer. It saves work and
 * guards nothing: two can have it after a long pause of a process, or once Redis lost it.
 */
export interface Lease {
  /** Takes or keeps it, until `release`; says whether this process has it. */
  hold(): Promise<boolean>;
  /** Lets another process have it. Never rejects. */
  release(): Promise<void>;
}

/** A lease under a key, that lasts `ttlMs` after the last renewal by its holder. */
export function createLease(redis: RedisConnection, key: string, ttlMs: number): Lease {
  const token = randomUUID();
  const freshMs = ttlMs / 3;
  let known = { held: false, until: -Infinity };
  const hold = async (): Promise<boolean> => {
    const askedAt = performance.now();
    const held = (await redis.eval(HOLD, 1, key, token, ttlMs)) === 1;
    known = { held, until: askedAt + (held ? 2 * freshMs : ASK_AGAIN_MS) };
    return held;
  };
  let renewal: NodeJS.Timeout | undefined;
  return {
    async hold() {
      if (performance.now() < known.until) return known.held;
      const held = await hold();
      // What the lease is held for may take longer than it lasts.
      if (held) renewal ??= setInterval(() => void hold().catch(() => undefined), freshMs).unref();
      else {
        clearInterval(renewal);
        renewal = undefined;
      }
      return held;
    },
    async release() {
      known = { held: false, until: -Infinity };
      clearInterval(renewal);
      renewal = undefined;
      await redis.eval(RELEASE, 1, key, token).catch(() => undefined);
    },
  };
}

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
