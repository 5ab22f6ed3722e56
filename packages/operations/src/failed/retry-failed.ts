import type { FailedJobs } from '@leadgate/queue';
import { createPace } from '../pace.ts';

export interface RetryFailedOptions {
  /** At most so many a second; without it as fast as Redis takes them. */
  perSecond?: number;
  /** Counts, and changes nothing. */
  dryRun?: boolean;
  /** Stops between two jobs. */
  signal?: AbortSignal;
  /** Told now and then how many were retried until then. */
  onProgress?: (retried: number) => void;
}

export interface RetriedFailed {
  /** With `dryRun`: how many would be. */
  retried: number;
  /** Those that somebody else retried or discarded first. */
  gone: number;
  /** Whether `signal` stopped it. */
  stopped: boolean;
}

/** In Redis at once, where no rate is asked for. */
const AT_ONCE = 50;

/**
 * Gives failed jobs all their attempts again: those of a reason, or all that have failed until now;
 * a job that fails once more meanwhile is not retried again. Oldest first.
 */
export async function retryFailed(
  failed: Pick<FailedJobs, 'pages' | 'retry'>,
  { reason }: { reason?: string },
  { perSecond, dryRun = false, signal, onProgress }: RetryFailedOptions,
): Promise<RetriedFailed> {
  const result: RetriedFailed = { retried: 0, gone: 0, stopped: false };
  const pace = createPace(perSecond, signal);
  const retryOne = async (jobId: string): Promise<void> => {
    await pace();
    if (signal?.aborted === true) result.stopped = true;
    else if (dryRun || (await failed.retry(jobId))) result.retried += 1;
    else result.gone += 1;
  };
  const filter = { until: new Date(), ...(reason !== undefined && { reason }) };
  for await (const jobs of failed.pages('oldest-first', filter)) {
    for (let i = 0; i < jobs.length && !result.stopped; i += AT_ONCE)
      await Promise.all(jobs.slice(i, i + AT_ONCE).map(({ jobId }) => retryOne(jobId)));
    onProgress?.(result.retried);
    if (result.stopped) break;
  }
  return result;
}
