import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../log.ts';
import type { Intake } from '../accept/accept.ts';
import { drainBatch } from './drain-batch.ts';
import type { SpoolFolder } from './spool-folder.ts';
import type { Spool } from './spool.ts';

/** A group goes to Redis in a few milliseconds; live traffic is served between two of them. */
const LARGEST_BATCH = 100;
const SHORTEST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2_000;
const LOOK_EVERY_MS = 250;
const ADOPT_EVERY_MS = 60_000;

export interface Pass {
  drained: number;
  damaged: number;
  /** Left because their workspaces are being refilled. */
  behind: number;
}

/**
 * Goes through a folder once, in order, at a bounded rate (records a second). Records of a workspace
 * that is behind stay, and hold back no other. Rejects when Redis fails; what was drained until then
 * is.
 */
export async function drainFolder(
  folder: SpoolFolder,
  intake: Intake,
  { rate, signal }: { rate: number; signal?: AbortSignal },
): Promise<Pass> {
  const pass: Pass = { drained: 0, damaged: 0, behind: 0 };
  const behind = new Set<string>();
  const limit = Math.max(1, Math.min(LARGEST_BATCH, Math.ceil(rate / 4)));
  let after = 0;
  while (signal?.aborted !== true) {
    const start = performance.now();
    const read = folder.read({ after, limit });
    const last = read.at(-1);
    if (last === undefined) break;
    after = last.sequence;
    const batch = read.filter(
      ({ spooled }) => spooled === null || !behind.has(spooled.submission.workspaceId),
    );
    pass.behind += read.length - batch.length;
    const result = await drainBatch(folder, batch, intake);
    pass.drained += result.drained;
    pass.damaged += result.damaged;
    pass.behind += result.behind.length;
    for (const workspaceId of result.behind) behind.add(workspaceId);
    if (result.failure !== null) throw result.failure;
    const left = (1_000 * result.drained) / rate - (performance.now() - start);
    if (left > 0) await pause(left, signal);
  }
  return pass;
}

export interface Drain {
  /** Ends after the batch that is under way. */
  stop(): Promise<void>;
}

/**
 * Drains a spool for as long as it is open, whenever it holds something and `mayDrain` says so.
 * Redis failing is met with growing pauses. Also adopts folders whose process has gone since.
 */
export function startDrain(
  spool: Spool,
  intake: Intake,
  { rate, mayDrain, logger }: { rate: number; mayDrain: () => boolean; logger: Log },
): Drain {
  const stopping = new AbortController();
  const { signal } = stopping;
  const ended = run();
  return {
    async stop() {
      stopping.abort();
      await ended;
    },
  };

  async function run(): Promise<void> {
    let waitMs = SHORTEST_WAIT_MS;
    let told = false;
    let adoptAt = Date.now() + ADOPT_EVERY_MS;
    while (!signal.aborted) {
      if (Date.now() >= adoptAt) {
        adoptAt = Date.now() + ADOPT_EVERY_MS;
        await tryToAdopt();
      }
      if (!mayDrain() || !spool.folders().some(({ waiting }) => waiting > 0)) {
        await pause(LOOK_EVERY_MS, signal);
        continue;
      }
      try {
        const { drained, behind } = await drainAll();
        told = false;
        waitMs = drained > 0 ? SHORTEST_WAIT_MS : Math.min(2 * waitMs, LONGEST_WAIT_MS);
        if (behind > 0) await pause(waitMs, signal);
      } catch (err) {
        waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
        if (!told)
          logger.warn({ err, waiting: spool.status().waiting }, 'the spool waits for Redis');
        told = true;
        await pause(waitMs, signal);
      }
    }
  }

  async function drainAll(): Promise<Pass> {
    const all: Pass = { drained: 0, damaged: 0, behind: 0 };
    for (const folder of spool.folders()) {
      const pass = await drainFolder(folder, intake, { rate, signal });
      all.drained += pass.drained;
      all.damaged += pass.damaged;
      all.behind += pass.behind;
    }
    await spool.dropDrained();
    if (all.damaged > 0)
      logger.error({ damaged: all.damaged }, 'damaged records of the spool were set aside');
    if (all.drained > 0)
      logger.info({ ...all, waiting: spool.status().waiting }, 'the spool was drained');
    return all;
  }

  async function tryToAdopt(): Promise<void> {
    try {
      await spool.adopt();
    } catch (err) {
      logger.warn({ err }, 'the folder of spools cannot be read');
    }
  }
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await delay(ms, undefined, signal && { signal }).catch(() => undefined);
}
