import type { FailedFilter, FailedJob, FailedJobs } from '@leadgate/queue';

/** The failed jobs that fit, newest first, at most `limit`. */
export async function newestFailed(
  failed: Pick<FailedJobs, 'pages'>,
  filter: FailedFilter,
  limit: number,
): Promise<FailedJob[]> {
  const jobs: FailedJob[] = [];
  for await (const page of failed.pages('newest-first', filter)) {
    jobs.push(...page);
    if (jobs.length >= limit) break;
  }
  return jobs.slice(0, limit);
}
