import { setTimeout as delay } from 'node:timers/promises';
import { accept, enqueueReserved, NotEnqueued, requestAgain, type Intake } from '../accept.ts';
import type { Log } from '@leadgate/boot';
import type { Reserver } from '../reservation/reserver.ts';
import type { SpoolFolder } from './folder.ts';
import type { SpoolReader, SpoolRecord } from './reader.ts';
import type { SpooledSubmission } from './segment.ts';
import type { Spool } from './spool.ts';

/** A group goes to Redis in a few milliseconds; live traffic is served between two of them. */
const LARGEST_BATCH = 100;
const SHORTEST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2_000;
const LOOK_EVERY_MS = 250;
const ADOPT_EVERY_MS = 60_000;

interface Pass {
  drained: number;
  damaged: number;
  /** Left because their workspaces are being refilled. */
  behind: number;
  /** Dropped, as their workspaces were removed. */
  removed: number;
}

/** What drains a spool: it has to know what will never be taken. */
export type DrainIntake = Intake & { reserver: Pick<Reserver, 'isRemoved'> };

/**
 * Goes through a folder once, in order, at a bounded rate (records a second). Records of a workspace
 * that is behind stay, and hold back no other. Rejects when Redis fails; what was drained until then
 * is.
 */
export async function drainFolder(
  { reader }: SpoolFolder,
  intake: DrainIntake,
  { rate, signal }: { rate: number; signal?: AbortSignal },
): Promise<Pass> {
  const pass: Pass = { drained: 0, damaged: 0, behind: 0, removed: 0 };
  const limit = Math.max(1, Math.min(LARGEST_BATCH, Math.ceil(rate / 4)));
  const passStart = performance.now();
  while (signal?.aborted !== true) {
    const start = performance.now();
    const taken = await reader.take(limit, passStart);
    if (taken === null) break;
    const { records } = taken;
    // Reading takes half of the time at most: the rest is for live traffic.
    const mayGoOn = performance.now() + (performance.now() - start);
    pass.damaged += taken.damaged;
    await drainBatch(reader, records, intake, pass);
    await pause(
      Math.max(start + (1_000 * records.length) / rate, mayGoOn) - performance.now(),
      signal,
    );
  }
  await reader.tidy();
  return { ...pass, behind: reader.behind };
}

/**
 * Hands records to Redis, and tells the reader of those that stand in the queue then. All are asked for
 * in one turn, so they are one reservation a workspace and one pipeline, in order. Killed at any point
 * it can run again: job ids and idempotency records make the second run a no-op.
 */
async function drainBatch(
  reader: SpoolReader,
  records: readonly SpoolRecord[],
  intake: DrainIntake,
  pass: Pass,
): Promise<void> {
  const outcomes = await Promise.all(records.map(({ spooled }) => settle(spooled, intake)));
  const left: SpoolRecord[] = [];
  let failure: Error | null = null;
  for (const [i, record] of records.entries()) {
    const outcome = outcomes[i];
    switch (outcome?.kind) {
      case 'enqueued':
        reader.done(record);
        pass.drained += 1;
        break;
      case 'damaged':
        await reader.setAside(record);
        pass.damaged += 1;
        break;
      case 'removed':
        reader.done(record);
        pass.removed += 1;
        break;
      case 'behind':
        left.push(record);
        break;
      case 'failed':
        failure = outcome.error;
        // Its order was given before those of later records, and stays so.
        left.push({ ...record, ...(outcome.reserved && { spooled: outcome.reserved }) });
        break;
      case undefined:
        break;
    }
  }
  if (failure === null) return reader.wait(left);
  reader.again(left);
  throw failure;
}

/** What became of a record. */
type Settled =
  | { kind: 'enqueued' }
  | { kind: 'damaged' }
  | { kind: 'behind' }
  | { kind: 'removed' }
  | { kind: 'failed'; error: Error; reserved?: SpooledSubmission };

const DAMAGED: Settled = { kind: 'damaged' };
const ENQUEUED: Settled = { kind: 'enqueued' };

async function settle(spooled: SpooledSubmission, intake: DrainIntake): Promise<Settled> {
  try {
    const { submission, reserved, idempotency } = spooled;
    if (reserved) {
      await enqueueReserved(intake, submission);
      return ENQUEUED;
    }
    const request = requestAgain(submission);
    const { kind } = await accept(intake, { ...request, ...(idempotency && { idempotency }) });
    if (kind === 'accepted') return ENQUEUED;
    if (kind === 'behind')
      return { kind: (await intake.reserver.isRemoved(submission.workspaceId)) ? 'removed' : kind };
    throw new Error(`a submission without limits that was answered is ${kind}`);
  } catch (error) {
    if (error instanceof NotEnqueued) {
      const reserved = { ...spooled, submission: error.submission, reserved: true };
      return failed(error.cause, reserved);
    }
    // No id is one, or there are too many keys: not even a healthy Redis could take it.
    if (error instanceof TypeError || error instanceof RangeError) return DAMAGED;
    return failed(error);
  }
}

function failed(error: unknown, reserved?: SpooledSubmission): Settled {
  const reason = error instanceof Error ? error : new Error('Redis failed');
  return { kind: 'failed', error: reason, ...(reserved && { reserved }) };
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
  intake: DrainIntake,
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
      if (!mayDrain() || !spool.folders().some(({ isDrained }) => !isDrained)) {
        await pause(LOOK_EVERY_MS, signal);
        continue;
      }
      try {
        const { drained, behind, removed } = await drainAll();
        told = false;
        waitMs = drained + removed > 0 ? SHORTEST_WAIT_MS : Math.min(2 * waitMs, LONGEST_WAIT_MS);
        if (behind > 0 || drained === 0) await pause(waitMs, signal);
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
    const all: Pass = { drained: 0, damaged: 0, behind: 0, removed: 0 };
    for (const folder of spool.folders()) {
      const pass = await drainFolder(folder, intake, { rate, signal });
      all.drained += pass.drained;
      all.damaged += pass.damaged;
      all.behind += pass.behind;
      all.removed += pass.removed;
    }
    await spool.dropDrained();
    if (all.damaged > 0)
      logger.error({ damaged: all.damaged }, 'damaged records of the spool were set aside');
    if (all.drained + all.removed > 0)
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
  if (ms <= 0) return;
  await delay(ms, undefined, signal && { signal }).catch(() => undefined);
}
