import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { fullest, type Logger, mastersOf, type RedisConnection } from '@leadgate/boot';
import type { Backpressure } from '@leadgate/intake';
import type { Producer } from '@leadgate/queue';

export interface BackpressureWatch {
  /** As of the last look, at most a few seconds ago; null: Redis can take more. */
  current(): Backpressure | null;
  stop(): Promise<void>;
}

export interface BackpressureLimits {
  /** Jobs waiting. */
  maxQueueDepth: number;
  /** Percent of maxmemory. */
  maxMemoryPercent: number;
}

/** What of Redis's state matters. */
export interface Load {
  /** Jobs, of all shards. */
  waiting: number;
  /** The servers that take writes: one, or the masters of a Cluster. */
  nodes: NodeLoad[];
}

interface NodeLoad {
  /** Bytes; a maxmemory of 0: no limit. */
  usedMemory: number;
  maxmemory: number;
  /** Null if Redis does not say. */
  evictionPolicy: string | null;
}

const LOOK_EVERY_MS = 1_000;
/** A look that is older says nothing: Redis may have been restarted since. */
const BELIEVED_FOR_MS = 5_000;
/** Backpressure ends below this share of its limit, so that it does not come and go with every look. */
const RELIEF = 0.95;

/** Looks at the queue and at Redis's memory every second, so that no request has to. */
export function watchBackpressure(
  redis: RedisConnection,
  producer: Pick<Producer, 'counts'>,
  limits: BackpressureLimits,
  logger: Pick<Logger, 'info' | 'warn'>,
): BackpressureWatch {
  const stopping = new AbortController();
  let backpressure: Backpressure | null = null;
  let lookedAt = 0;

  const look = async (): Promise<void> => {
    const before = backpressure;
    backpressure = backpressureOf(await readLoad(redis, producer), limits, before !== null);
    lookedAt = performance.now();
    if (backpressure?.code === before?.code) return;
    if (backpressure === null) logger.info('Redis can take leads again');
    else logger.warn(`no leads go to Redis for now: ${backpressure.reason}`);
  };
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      // Redis being away is for the breaker to notice.
      await look().catch(() => undefined);
      await delay(LOOK_EVERY_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  })();

  return {
    current: () => (performance.now() - lookedAt < BELIEVED_FOR_MS ? backpressure : null),
    async stop() {
      stopping.abort();
      await watching;
    },
  };
}

/**
 * Pure. `isActive`: it was until now. A full node of a Cluster is enough: which leads it would take
 * is not known before they are reserved.
 */
export function backpressureOf(
  { waiting, nodes }: Load,
  { maxQueueDepth, maxMemoryPercent }: BackpressureLimits,
  isActive: boolean,
): Backpressure | null {
  const evicting = nodes.find((node) => (node.evictionPolicy ?? 'noeviction') !== 'noeviction');
  if (evicting !== undefined)
    return {
      code: 'unavailable',
      reason: `Redis may throw leads away (maxmemory-policy ${evicting.evictionPolicy}).`,
    };
  const share = isActive ? RELIEF : 1;
  const { usedMemory, maxmemory } = fullest(nodes) ?? { usedMemory: 0, maxmemory: 0 };
  if (maxmemory > 0 && usedMemory >= (share * maxmemory * maxMemoryPercent) / 100)
    return {
      code: 'overloaded',
      reason: `Redis has used ${Math.round((100 * usedMemory) / maxmemory)} % of its maxmemory: raise it, or start more workers.`,
    };
  if (waiting >= share * maxQueueDepth)
    return { code: 'overloaded', reason: `${waiting} leads are waiting: start more workers.` };
  return null;
}

async function readLoad(redis: RedisConnection, producer: Pick<Producer, 'counts'>): Promise<Load> {
  const [nodes, { waiting }] = await Promise.all([
    Promise.all(mastersOf(redis).map(readNode)),
    producer.counts(),
  ]);
  return { waiting, nodes };
}

async function readNode(redis: Redis): Promise<NodeLoad> {
  const info = await redis.info('memory');
  const read = (name: string): string | null =>
    new RegExp(`^${name}:(.*)\r?$`, 'm').exec(info)?.[1]?.trim() ?? null;
  return {
    usedMemory: Number(read('used_memory') ?? 0),
    maxmemory: Number(read('maxmemory') ?? 0),
    evictionPolicy: read('maxmemory_policy'),
  };
}
