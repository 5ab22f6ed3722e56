import type { RedisConnection } from '@leadgate/boot';
import type { Submission } from '@leadgate/contract';
import type { Job, Queue } from 'bullmq';
import { setTimeout as delay } from 'node:timers/promises';
import { readJobData } from './dashboard-queues.ts';
import { walkByTime } from './failed-jobs.ts';
import { LEADS, leadsField, leadsIn } from './counts.ts';
import { withQueues } from './shards.ts';

const PAGE = 100;

/** How long an erasure waits for what workers hold of the person. */
const HELD_MS = 10_000;
const LOOK_EVERY_MS = 50;

/**
 * Takes jobs out of the queue that carry nothing but what fits, of those that no worker is about to
 * take: failed ones, and those that wait for their next attempt. What waits is the worker's to drop, and
 * goes with its job. What a worker holds now may have begun before there was a tombstone, and fail for good:
 * its end is waited for first. Returns how many leads they carried; `dryRun` only counts.
 */
export async function eraseJobs(
  redis: RedisConnection,
  fits: (submission: Submission) => boolean,
  { dryRun }: { dryRun: boolean },
): Promise<number> {
  const counts = await withQueues(redis, async (queue) => {
    if (!dryRun) await untilLetGo(queue, fits);
    let erased = 0;
    for (const state of ['failed', 'delayed'] as const)
      for (const job of await jobsThatFit(redis, queue, state, fits)) {
        const leads = leadsIn(job.name);
        if (!dryRun) {
          // Retried in this moment: the worker drops it.
          if (!(await remove(job))) continue;
          if (state === 'delayed')
            await redis.hincrby(queue.toKey(LEADS), leadsField(job.opts.priority), -leads);
        }
        erased += leads;
      }
    return erased;
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Waits for the end of what workers hold now of what fits; not for ever: one that hangs is seen again by its worker. */
async function untilLetGo(queue: Queue, fits: (submission: Submission) => boolean): Promise<void> {
  const active = (await queue.getActive()) as (Job | undefined)[];
  let held = active.filter(
    (job): job is Job =>
      job !== undefined && (readJobData(job.data)?.submissions.some(fits) ?? false),
  );
  const until = performance.now() + HELD_MS;
  while (held.length > 0 && performance.now() < until) {
    await delay(LOOK_EVERY_MS);
    const still = await Promise.all(held.map((job) => job.isActive()));
    held = held.filter((_, n) => still[n]);
  }
}

/** What failed jobs and those that wait for their next attempt carry, of what fits. */
export async function failedSubmissions(
  redis: RedisConnection,
  fits: (submission: Submission) => boolean,
): Promise<Submission[]> {
  const found = await withQueues(redis, async (queue) => {
    const jobs = await Promise.all(
      (['failed', 'delayed'] as const).map((state) => jobsThatFit(redis, queue, state, fits)),
    );
    return jobs.flat().flatMap((job) => readJobData(job.data)?.submissions ?? []);
  });
  return found.flat();
}

const STATES = ['wait', 'active', 'delayed', 'prioritized', 'failed'] as const;

/**
 * The leads for which something is in the queue, waiting, being applied or failed, under the ids that were
 * reserved and answered; null if that is more than `most` jobs.
 */
export async function leadsInQueue(
  redis: RedisConnection,
  most: number,
): Promise<Set<string> | null> {
  const found = await withQueues(redis, async (queue) => {
    if ((await queue.getJobCountByTypes(...STATES)) > most) return null;
    const jobs = (await queue.getJobs([...STATES])) as (Job | undefined)[];
    return jobs.flatMap((job) => {
      const content = job === undefined ? null : readJobData(job.data);
      return (content?.submissions ?? []).flatMap(({ leadId, answeredLeadId, identities }) => [
        ...[leadId, answeredLeadId ?? []].flat(),
        ...identities.flatMap(({ owner }) => owner ?? []),
      ]);
    });
  });
  const ids = found.flatMap((one) => one ?? []);
  return found.includes(null) ? null : new Set(ids);
}

async function jobsThatFit(
  redis: RedisConnection,
  queue: Queue,
  state: 'failed' | 'delayed',
  fits: (submission: Submission) => boolean,
): Promise<Job[]> {
  const found: Job[] = [];
  const walk = { order: 'oldest-first' as const, pageSize: PAGE };
  for await (const page of walkByTime(redis, queue.toKey(state), walk))
    for (const job of await Promise.all(page.map(({ member }) => queue.getJob(member)))) {
      const one = job as Job | undefined;
      const content = one === undefined ? null : readJobData(one.data);
      if (one === undefined || content === null || content.submissions.length === 0) continue;
      if (content.submissions.length === content.leads && content.submissions.every(fits))
        found.push(one);
    }
  return found;
}

async function remove(job: Job): Promise<boolean> {
  try {
    await job.remove();
    return true;
  } catch {
    // Locked by a worker.
    return false;
  }
}

/** Of submissions, those that have a job that failed, or that is tried again. */
export async function failedAmong(
  redis: RedisConnection,
  ids: ReadonlySet<string>,
): Promise<Set<string>> {
  if (ids.size === 0) return new Set();
  const found = await failedSubmissions(redis, ({ id }) => ids.has(id));
  return new Set(found.map(({ id }) => id));
}
