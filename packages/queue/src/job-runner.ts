import { setTimeout as delay } from 'node:timers/promises';
import type { Log, RedisConnection } from '@leadgate/boot';
import {
  type JobPayload,
  memberLine,
  packJob,
  readJob,
  type ReadMember,
  type Submission,
  unpackJob,
} from '@leadgate/contract';
import { type Job, type Queue, UnrecoverableError, WaitingError } from 'bullmq';
import { addJobs, type NewJob, ONE_LEAD } from './producer.ts';

/** What became of a submission. */
export type Outcome =
  /** Nothing is left to do for it. */
  | { kind: 'settled' }
  /** The reason is kept with its job and shown to operators: it must not hold personal data. */
  | { kind: 'failed'; reason: string }
  /** It was not tried, or could not have worked for anyone: its job goes back, unspent. */
  | { kind: 'nacked' };

export interface ApplyInfo {
  /** They are stored, and are to be applied again. */
  replay: boolean;
  /** In a transaction of its own: it failed with others, or may be what takes workers down. */
  alone: boolean;
}

/**
 * Applies the submissions of a job; resolves with what became of each, in their order. It may run
 * twice for one submission. Of what it throws only type and code are kept.
 */
export type Apply = (
  submissions: readonly Submission[],
  info: ApplyInfo,
) => Promise<readonly Outcome[]>;

interface JobRunner {
  /** As BullMQ wants it: completed when it resolves, tried again or failed when it rejects. */
  run(job: Job<unknown>, token: string): Promise<void>;
  /** Leads that are being applied. */
  running(): number;
  /** From now on nothing waits for a Redis that refuses. */
  stop(): void;
}

interface JobRunnerOptions {
  apply: Apply;
  room: Pick<LeadRoom, 'unpack' | 'release'>;
  logger: Log;
  onRefused: (error: Error) => void;
  onUnknownVersion: (version: number) => void;
}

/**
 * A group that went down with its worker once was in bad company, perhaps; twice, one of it may be
 * what took the worker down, and no other should go down with it.
 */
const STALLS_TO_SPLIT = 2;

/** Until jobs that Redis refused are put in again. */
const REFUSED_WAIT_MS = 500;

/**
 * Runs jobs of a shard. A job of many is completed once each of them is settled or has a job of its
 * own, whose id is the submission's. Killed in between, it is run again: what was settled is found
 * done, and a job whose id is there stays as it is.
 */
export function createJobRunner(
  redis: RedisConnection,
  queue: Queue,
  { apply, room, logger, onRefused, onUnknownVersion }: JobRunnerOptions,
): JobRunner {
  const stopping = new AbortController();
  let running = 0;

  async function run(job: Job<unknown>, token: string): Promise<void> {
    const reading = readJob(job.data);
    switch (reading.kind) {
      case 'malformed':
        throw new UnrecoverableError(UNREADABLE);
      case 'unknown-version':
        onUnknownVersion(reading.version);
        return nack(job, token);
      case 'readable':
        await room.unpack(reading.payload.n);
        try {
          if ((await runLeads(job, reading.payload)) === 'nacked') await nack(job, token);
        } finally {
          room.release(reading.payload.n);
        }
    }
  }

  async function runLeads(job: Job<unknown>, payload: JobPayload): Promise<'done' | 'nacked'> {
    const members = await unpackJob(payload).catch(() => {
      throw new UnrecoverableError(UNREADABLE);
    });
    const [first] = members;
    const ownJob = members.length === 1 && first?.kind === 'read' && first.jobId === job.id;
    const suspect = job.stalledCounter >= STALLS_TO_SPLIT;
    if (suspect && members.length > 1) {
      logger.warn({ jobId: job.id, leads: members.length }, 'splitting a job that keeps stalling');
      return split(job, payload, members);
    }
    const readable = members.flatMap((member) => (member.kind === 'read' ? [member] : []));
    if (readable.length === 0 && members.length === 1) throw new UnrecoverableError(UNREADABLE);
    const outcomes = await applied(
      readable.map(({ submission }) => submission),
      { replay: payload.r === 1, alone: ownJob || suspect },
    );
    if (outcomes.some(({ kind }) => kind === 'nacked')) return 'nacked';
    const reasons = new Map<ReadMember, string>();
    outcomes.forEach((outcome, n) => {
      const member = readable[n];
      if (outcome.kind === 'failed' && member !== undefined) reasons.set(member, outcome.reason);
    });
    for (const [member, reason] of reasons)
      if (member.kind === 'read')
        logger.warn(
          { submissionId: member.submission.id, attempt: job.attemptsMade + 1, reason },
          'attempt failed',
        );
    const [reason] = reasons.values();
    // BullMQ keeps the message and the stack with the job, and nothing else.
    if (ownJob && reason !== undefined) throw new Error(reason);
    const left = members.filter((one) => one.kind === 'unreadable' || reasons.has(one));
    return left.length === 0 ? 'done' : split(job, payload, left);
  }

  async function applied(
    submissions: readonly Submission[],
    info: ApplyInfo,
  ): Promise<readonly Outcome[]> {
    running += submissions.length;
    try {
      return await apply(submissions, info);
    } catch (error) {
      const reason = reasonToKeep(error);
      return submissions.map(() => ({ kind: 'failed', reason }));
    } finally {
      running -= submissions.length;
    }
  }

  /** Puts members of a job into jobs of their own, with all their attempts, before any other. */
  async function split(
    job: Job<unknown>,
    { r }: JobPayload,
    members: readonly ReadMember[],
  ): Promise<'done' | 'nacked'> {
    const turn = job.priority > 0 ? { priority: job.priority } : { lifo: true };
    const options = { ...ONE_LEAD, ...turn, timestamp: job.timestamp };
    const jobs = members.map((member, n): NewJob => ({
      id: member.kind === 'read' ? member.jobId : `${job.id ?? ''}-${n.toString()}`,
      payload: packJob([member.kind === 'read' ? memberLine(member) : member.line], {
        replay: r === 1,
      }),
      options,
    }));
    for (;;) {
      try {
        await addJobs(redis, queue, jobs);
        return 'done';
      } catch (error) {
        if (error instanceof Error) onRefused(error);
        if (stopping.signal.aborted) return 'nacked';
        await delay(REFUSED_WAIT_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  }

  return {
    run,
    running: () => running,
    stop: () => stopping.abort(),
  };
}

/** Puts a job back at the head of the queue without spending an attempt. */
async function nack(job: Job<unknown>, token: string): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}

const UNREADABLE = 'the job is not one that this version of the worker understands';

/** The message of an unexpected error may quote a value: its type and code have to do. */
function reasonToKeep(error: unknown): string {
  if (!(error instanceof Error)) return 'failed for an unknown reason';
  const code: unknown = Reflect.get(error, 'code');
  return `failed with ${error.constructor.name}${typeof code === 'string' ? ` (${code})` : ''}`;
}

/** How many leads a worker has in hand, and how many jobs it may therefore hold. */
interface LeadRoom {
  /** A job of so many leads was taken. */
  enter(leads: number): void;
  /** It is done with. */
  leave(leads: number): void;
  /** Resolves when its leads may be unpacked: there is room for them, or no other is unpacked. */
  unpack(leads: number): Promise<void>;
  /** What was unpacked is done with. */
  release(leads: number): void;
  /** From now on; what is held beyond it stays. */
  allow(leads: number): void;
}

/** BullMQ takes as many jobs as it may before it begins with the first. */
const TAKEN_AT_ONCE = 10;

/** How much the last job counts in what jobs carry on average. */
const WEIGHT_OF_LAST = 0.2;

/**
 * Keeps the leads in hand at about `limit`. How many a job carries is known once it is taken, so the
 * jobs that may be held are told again with each one: those held, and as many more as fit when they
 * are like the last ones.
 */
export function createLeadRoom(limit: number, onJobs: (jobs: number) => void): LeadRoom {
  let jobs = 0;
  let held = 0;
  let unpacked = 0;
  let average = 1;
  const waiting: { leads: number; enter: () => void }[] = [];

  const tell = (): void => {
    const more = Math.ceil(Math.max(0, limit - held) / average);
    onJobs(Math.max(1, jobs + Math.min(more, TAKEN_AT_ONCE)));
  };
  const letIn = (): void => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      if (unpacked > 0 && unpacked + next.leads > limit) return;
      unpacked += next.leads;
      waiting.shift();
      next.enter();
    }
  };
  return {
    enter(leads) {
      jobs += 1;
      held += leads;
      average += WEIGHT_OF_LAST * (leads - average);
      tell();
    },
    leave(leads) {
      jobs -= 1;
      held -= leads;
      tell();
    },
    unpack: (leads) =>
      new Promise((enter) => {
        waiting.push({ leads, enter });
        letIn();
      }),
    release(leads) {
      unpacked -= leads;
      letIn();
    },
    allow(leads) {
      limit = leads;
      tell();
      letIn();
    },
  };
}
