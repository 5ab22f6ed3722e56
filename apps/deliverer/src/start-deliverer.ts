import { randomUUID } from 'node:crypto';
import {
  answerWithin,
  Keyring,
  startHealthServer,
  type HealthChecks,
  type Logger,
} from '@leadgate/boot';
import { createGuard } from '@leadgate/delivery';
import {
  deliveryFigures,
  keepLanes,
  listenForDeliveries,
  openStore,
  readLanes,
  releaseLane,
  requirePostgres,
  requireWritable,
  sweepDeliveries,
  takeLanes,
} from '@leadgate/store';
import type { DelivererConfig } from './config.ts';
import { LaneRunner } from './lane-runner.ts';
import { createDelivererMetrics } from './metrics.ts';

interface DelivererOptions {
  logger: Logger;
  /** Is told how to close what was opened; to be called in reverse order. */
  onClose: (name: string, close: () => Promise<void> | void) => void;
}

/** What is due by time alone, and what a notice was missed of, is found this late at most. */
const LOOK_EVERY_MS = 1_000;
/** Under load, looks are no closer: each is a few statements. */
const LOOK_APART_MS = 20;
/** Lanes are taken some at a time, so that deliverers that start together share them. */
const TAKEN_AT_ONCE = 20;
/** A lane with nothing to do is given back, and the next to have something may be another's. */
const IDLE_MS = 10_000;
const SWEEP_EVERY_MS = 3_600_000;
/** A process whose looks neither succeed nor fail for so long is started again. */
const STUCK_MS = 60_000;
const ANSWER_WITHIN_MS = 1_000;

/** Milliseconds that stopping takes at most besides SHUTDOWN_TIMEOUT_MS. */
export const STOP_MARGIN_MS = 5_000;

/**
 * Starts the deliverer: it takes lanes that have something to send, and sends. Resolves with the port of its
 * health server. Throws a StartError when Postgres cannot be used.
 */
export async function startDeliverer(
  config: DelivererConfig,
  { logger, onClose }: DelivererOptions,
): Promise<{ port: number }> {
  const guard = createGuard({ allowNetworks: config.DELIVERY_ALLOW_NETWORKS });
  const keyring = new Keyring(config.SECRETS_KEY, { before: config.SECRETS_KEY_BEFORE });
  const store = openStore({
    url: config.DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    logger,
  });
  onClose('postgres', store.close);
  await requirePostgres(store, config.DATABASE_URL);

  const owner = randomUUID();
  const lanes = new Map<string, LaneRunner>();
  const heldUntil = new Map<string, number>();
  let away = false;
  let lookedAt = performance.now();

  const metrics = createDelivererMetrics({
    figures: () => deliveryFigures(store),
    lanes: () => lanes.size,
    postgresIsAway: () => away,
  });
  const checks: HealthChecks = {
    live: () => {
      const forMs = performance.now() - lookedAt;
      return Promise.resolve({ ok: forMs < STUCK_MS, body: { lanes: lanes.size } });
    },
    ready: async () => {
      const answers = (await answerWithin(requireWritable(store), ANSWER_WITHIN_MS)) !== null;
      return { ok: answers, body: { postgres: answers ? 'ok' : 'away', lanes: lanes.size } };
    },
  };
  const health = await startHealthServer(checks, {
    host: config.DELIVERER_HOST,
    port: config.DELIVERER_PORT,
    metrics: metrics.registry,
  });
  onClose('health', health.close);

  /** Takes what is free, reads what is held, and lets go of what has nothing to do. */
  async function look(): Promise<void> {
    const held = performance.now() + config.LANE_LEASE_MS;
    const options = { leaseMs: config.LANE_LEASE_MS, limit: TAKEN_AT_ONCE };
    for (const endpointId of await takeLanes(store, owner, options))
      heldUntil.set(endpointId, held);
    const readAt = performance.now();
    const found = await readLanes(store, owner);
    for (const lane of found) {
      const { endpointId } = lane;
      const known = lanes.get(endpointId);
      const runner =
        known ??
        new LaneRunner(lane, {
          ...{ store, owner, guard, keyring, metrics, logger },
          heldUntil: () => heldUntil.get(endpointId) ?? 0,
          timeoutMs: config.DELIVERY_TIMEOUT_MS,
        });
      lanes.set(endpointId, runner);
      runner.update(lane, readAt);
    }
    const own = new Set(found.map(({ endpointId }) => endpointId));
    for (const [endpointId, runner] of lanes) {
      const isIdle = runner.idleSince !== null && performance.now() - runner.idleSince > IDLE_MS;
      if (!own.has(endpointId) || isIdle) await letGo(endpointId, runner, 0);
    }
  }

  /** Of a lane that is another's by now only the sends are ended. */
  async function letGo(endpointId: string, runner: LaneRunner, withinMs: number): Promise<void> {
    lanes.delete(endpointId);
    const isCut = await runner.close(withinMs);
    heldUntil.delete(endpointId);
    await releaseLane(store, owner, endpointId, { afterMs: runner.restMs, isCut });
  }

  const looks = repeat(look, LOOK_EVERY_MS, LOOK_APART_MS, (error) => {
    lookedAt = performance.now();
    if ((error !== null) === away) return;
    away = error !== null;
    if (away) logger.warn({ err: error }, 'Postgres is away; deliveries wait');
    else logger.info('Postgres is back');
  });
  const keeping = repeat(
    async () => {
      const held = performance.now() + config.LANE_LEASE_MS;
      const kept = await keepLanes(store, owner, [...lanes.keys()], config.LANE_LEASE_MS);
      for (const endpointId of kept) heldUntil.set(endpointId, held);
    },
    config.LANE_LEASE_MS / 3,
    0,
    () => undefined,
  );
  const sweeping = repeat(
    async () => {
      const swept = await sweepDeliveries(store);
      if (swept > 0) logger.info({ swept }, 'old tries of deliveries are gone');
    },
    SWEEP_EVERY_MS,
    0,
    () => undefined,
  );
  onClose('lanes', async () => {
    await Promise.all([looks.close(), keeping.close(), sweeping.close()]);
    const closing = [...lanes].map(([endpointId, runner]) =>
      letGo(endpointId, runner, config.SHUTDOWN_TIMEOUT_MS),
    );
    // A lane that cannot be given back is taken when its lease ends.
    await Promise.allSettled(closing);
  });
  const listener = listenForDeliveries(config.DATABASE_URL, looks.soon);
  onClose('listener', listener.close);
  looks.soon();

  logger.info({ port: health.port }, 'deliverer started');
  return { port: health.port };
}

interface Repeated {
  /** Runs it as soon as may be. */
  soon: () => void;
  /** Resolves when it does not run any more. */
  close: () => Promise<void>;
}

/**
 * Runs something again and again, never twice at once: `everyMs` after it ended, or `soon`, and then `apartMs`
 * after it began. `done` is told of each end, null if all was well.
 */
function repeat(
  run: () => Promise<void>,
  everyMs: number,
  apartMs: number,
  done: (error: unknown) => void,
): Repeated {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | null = null;
  let wanted = false;
  let beganAt = Number.NEGATIVE_INFINITY;
  let closed = false;
  const next = (ms: number) => {
    clearTimeout(timer);
    if (!closed) timer = setTimeout(start, ms);
  };
  const start = () => {
    wanted = false;
    beganAt = performance.now();
    running = run()
      .then(
        () => done(null),
        (error: unknown) => done(error),
      )
      .finally(() => {
        running = null;
        if (wanted) soon();
        else next(everyMs);
      });
  };
  const soon = () => {
    wanted = true;
    if (running === null) next(Math.max(beganAt + apartMs - performance.now(), 0));
  };
  next(everyMs);
  return {
    soon,
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
