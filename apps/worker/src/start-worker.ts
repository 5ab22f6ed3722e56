import {
  awaitRedis,
  connectRedis,
  durabilityFindings,
  inspectRedis,
  type Logger,
  type RedisConnection,
  StartError,
  startHealthServer,
} from '@leadgate/boot';
import { moveIdentities, onRefillRequest } from '@leadgate/intake';
import { applyErasures, LedgerError } from '@leadgate/operations';
import { shardStandings, startApplyWorker } from '@leadgate/queue';
import {
  applyGroup,
  erasureKeyOf,
  erasureKeyState,
  failureOf,
  type GroupResult,
  openStore,
  refillSource,
  requirePostgres,
  requireWritable,
  saveHeld,
  saveRejected,
  type Store,
  trimRejected,
} from '@leadgate/store';
import { setTimeout as delay } from 'node:timers/promises';
import { createAlarmsTask } from './alarms/alarms-task.ts';
import type { WorkerConfig } from './config.ts';
import { createCommit, createGroupCommit, type Wait } from './group-commit.ts';
import { createHealthChecks } from './health/checks.ts';
import { createCountTask } from './maintenance/count-task.ts';
import { createLedgerTask } from './maintenance/ledger-task.ts';
import { startMaintenance, createLease } from './maintenance/maintenance.ts';
import { createRefillTask } from './maintenance/refill-task.ts';
import { createRejectedTask } from './maintenance/rejected-task.ts';
import {
  createConsentsTask,
  createRetentionTask,
  createUntouchedTask,
} from './maintenance/retention-task.ts';
import { createWorkerMetrics } from './metrics.ts';

interface WorkerOptions {
  logger: Logger;
  /** Is told how to close what was opened; to be called in reverse order. */
  onClose: (name: string, close: () => Promise<void> | void) => void;
}

/** What somebody waits for wakes it: a workspace that a receiver found behind, a Redis that is back. */
const CARETAKER_PAUSE_MS = 1_000;
/** Another worker goes on this long after the one that looked after Redis is gone. */
const UPKEEP_LEASE_MS = 5_000;
/** Of each of its tasks: longer than what any statement or command may take. */
const CARETAKER_DEADLINE_MS = 15_000;

const NACK_WITHIN_MS = 1_000;
/** Of a connection made to find out whether a server answers others. */
const PROBE_TIMEOUT_MS = 1_000;

/**
 * Milliseconds that stopping takes at most besides SHUTDOWN_TIMEOUT_MS, if everything hangs: putting
 * jobs back, telling Redis, the maintenance, and closing the connections to Postgres.
 */
export const STOP_MARGIN_MS = NACK_WITHIN_MS + 3_000 + 2_000 + 2_000 + 1_000;

/**
 * Starts the worker: it takes jobs, applies them in groups, and looks after what Redis holds of
 * Postgres. Resolves with the port of its health server once it takes jobs. Throws a StartError when
 * Redis or Postgres cannot be used.
 */
export async function startWorker(
  config: WorkerConfig,
  { logger, onClose }: WorkerOptions,
): Promise<{ port: number }> {
  const cluster = config.REDIS_CLUSTER;
  const jobsRedis = connectRedis(config.REDIS_URL, {
    role: 'worker',
    cluster,
    logger,
    connectionName: 'leadgate-worker',
  });
  onClose('redis', () => jobsRedis.disconnect());
  // Gives up if the other one waits: nothing here may hang on Redis, it comes round again.
  const upkeepRedis = connectRedis(config.REDIS_URL, {
    role: 'admin',
    cluster,
    connectionName: 'leadgate-worker-upkeep',
  });
  onClose('redis of upkeep', () => upkeepRedis.disconnect());
  const warnings = await requireRedis(upkeepRedis, logger);
  const listener = connectRedis(config.REDIS_URL, {
    role: 'subscriber',
    cluster,
    connectionName: 'leadgate-worker-listener',
  });
  onClose('redis of refills', () => listener.disconnect());

  const store = openStore({
    url: config.DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    ...(config.ERASURE_KEY !== undefined && { erasureKey: erasureKeyOf(config.ERASURE_KEY) }),
    logger,
  });
  onClose('postgres', store.close);
  await requirePostgres(store, config.DATABASE_URL);
  const erasures = await requireErasures({ store, redis: upkeepRedis }, config.ERASURE_LEDGER);
  if (erasures > 0) logger.warn({ erasures }, 'erased again what an older dump brought back');

  const retention = createRetentionTask(
    store,
    upkeepRedis,
    {
      submission: config.RETENTION_DAYS,
      rejected_submission: config.REJECTED_DAYS,
    },
    config.READS_DAYS,
  );
  // Before the first job, while no row is in their way. A failure is the maintenance's to tell.
  await retention.run().catch(() => null);

  const upkeepLease = createLease(upkeepRedis, 'leadgate:upkeep', UPKEEP_LEASE_MS);
  onClose('lease of upkeep', upkeepLease.release);
  const maintenance = startMaintenance({
    tasks: [
      createRefillTask(upkeepRedis, refillSource(store), upkeepLease),
      createRejectedTask(upkeepRedis, {
        save: (bodies) => saveRejected(store, bodies),
        trim: (linkId) => trimRejected(store, linkId, config.REJECTED_PER_LINK),
        failureOf,
        logger,
      }),
      createConsentsTask(store),
      createCountTask(upkeepRedis, store, upkeepLease),
      createLedgerTask(upkeepRedis, store, upkeepLease, logger),
      createAlarmsTask(upkeepRedis, store, upkeepLease, logger),
      retention,
      createUntouchedTask({ store, redis: upkeepRedis }, upkeepLease, {
        ledger: config.ERASURE_LEDGER,
        logger,
      }),
    ],
    pauseMs: CARETAKER_PAUSE_MS,
    deadlineMs: CARETAKER_DEADLINE_MS,
    wait,
    logger,
  });
  onClose('maintenance', maintenance.close);
  upkeepRedis.on('ready', maintenance.wake);
  onRefillRequest(listener, maintenance.wake);

  const metrics = createWorkerMetrics({
    redis: upkeepRedis,
    redisIsReady: () => jobsRedis.status === 'ready',
    postgresIsAway: () => groups.away,
    jobsLeft: () => jobs.progress().left,
  });
  const groups = createGroupCommit({
    commit: createCommit({
      applyGroup: metrics.observe((items) => applyGroup(store, items)),
      saveHeld: (submissions) => saveHeld(store, submissions),
      moveIdentities: (moved) => moveAll(upkeepRedis, moved),
      logger,
    }),
    failureOf,
    maxGroupSize: config.WORKER_GROUP_SIZE,
    maxGroups: config.WORKER_GROUPS,
    onOutage: (away) => {
      if (away) jobs.pause();
      else jobs.resume();
      logger.warn(away ? 'Postgres is away; jobs wait' : 'Postgres is back');
    },
    wait,
    logger,
  });
  // Before any job is taken, as the port may be taken.
  const checks = createHealthChecks({
    progress: () => jobs.progress(),
    shards: () => shardStandings(upkeepRedis),
    redisIsReady: () => jobsRedis.status === 'ready',
    askRedisAnew: async () => {
      const fresh = connectRedis(config.REDIS_URL, { role: 'producer', cluster });
      try {
        await awaitRedis(fresh, { timeoutMs: PROBE_TIMEOUT_MS });
        return await shardStandings(fresh);
      } finally {
        fresh.disconnect();
      }
    },
    postgresIsAway: () => groups.away,
    askPostgres: () => requireWritable(store),
    askPostgresAnew: async () => {
      const fresh = openStore({
        url: config.DATABASE_URL,
        poolSize: 1,
        statementTimeoutMs: PROBE_TIMEOUT_MS,
      });
      try {
        await requireWritable(fresh);
      } finally {
        await fresh.close();
      }
    },
    stuckAfterMs: config.LIVENESS_WINDOW_MS,
    warnings,
  });
  const health = await startHealthServer(checks, {
    host: config.WORKER_HOST,
    port: config.WORKER_PORT,
    metrics: metrics.registry,
  });
  onClose('health', health.close);
  const jobs = await startApplyWorker(jobsRedis, {
    concurrency: config.WORKER_CONCURRENCY,
    lockMs: config.JOB_LOCK_MS,
    ...(config.WORKER_SHARDS.length > 0 && { shards: config.WORKER_SHARDS.map(Number) }),
    logger,
    apply: (submissions, { replay, alone }) =>
      groups.add(
        submissions.map((submission) => ({ submission, replay })),
        { alone },
      ),
  });
  onClose('jobs', async () => {
    groups.stop();
    const givingUp = setTimeout(() => groups.abandon(), config.SHUTDOWN_TIMEOUT_MS);
    await jobs.close({ timeoutMs: config.SHUTDOWN_TIMEOUT_MS + NACK_WITHIN_MS });
    clearTimeout(givingUp);
  });

  // Asked or not: what excuses a time without progress is seen only while it lasts.
  const watching = setInterval(() => void checks.live(), config.LIVENESS_WINDOW_MS / 4);
  onClose('liveness', () => clearInterval(watching));

  logger.info({ port: health.port, concurrency: config.WORKER_CONCURRENCY }, 'worker started');
  return { port: health.port };
}

const wait: Wait = (ms, signal) => delay(ms, undefined, { signal });

async function moveAll(redis: RedisConnection, moved: GroupResult['moved']): Promise<void> {
  for (const workspaceId of new Set(moved.map((move) => move.workspaceId)))
    await moveIdentities(
      redis,
      workspaceId,
      moved.filter((move) => move.workspaceId === workspaceId),
    );
}

/**
 * Waits for Redis and looks at how well it keeps leads. Returns what is weaker than it should be.
 * Throws a StartError if Redis cannot be reached, or must not be used.
 */
async function requireRedis(
  redis: RedisConnection,
  logger: Pick<Logger, 'warn'>,
): Promise<string[]> {
  await awaitRedis(redis);
  const { fatal, warnings } = durabilityFindings(await inspectRedis(redis));
  if (fatal.length > 0) throw new StartError(fatal.join('\n'));
  for (const warning of warnings) logger.warn(warning);
  return warnings;
}

/**
 * Makes sure that people who were erased stay so: that the worker can tell them, and that an older
 * dump which was put back is rid of them before the first job. Returns how many erasures of the ledger
 * were applied again. Throws a StartError if it cannot be made sure.
 */
async function requireErasures(
  servers: { store: Store; redis: RedisConnection },
  ledger: string | undefined,
): Promise<number> {
  const { store } = servers;
  const state = await erasureKeyState(store);
  if (state === 'missing' || (ledger !== undefined && store.erasureKey === null))
    throw new StartError(
      'People were erased, and ERASURE_KEY is not set: what comes late of them would bring them back. Set it to the key that they were erased under.',
    );
  if (state === 'another')
    throw new StartError(
      'ERASURE_KEY is another one than people were erased under: what comes late of them would bring them back.',
    );
  if (ledger === undefined) return 0;
  try {
    return (await applyErasures(servers, ledger)).applied;
  } catch (error) {
    if (error instanceof LedgerError) throw new StartError(`${error.message}.`, { cause: error });
    throw error;
  }
}
