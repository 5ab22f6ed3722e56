export {
  startApplyWorker,
  type ApplyWorker,
  type ApplyWorkerOptions,
  type JobInfo,
  type Progress,
} from './apply-worker.ts';
export { openDashboardQueue, readJobData, type DashboardQueue } from './dashboard-queue.ts';
export {
  openFailedJobs,
  type FailedFilter,
  type FailedJob,
  type FailedJobDetails,
  type FailedJobs,
  type FailedReason,
} from './failed/failed-jobs.ts';
export { AttemptFailed, GiveBack } from './job-outcome.ts';
export { oldestWaiting } from './oldest-waiting.ts';
export { pauseQueue, resumeQueue } from './pause-queue.ts';
export { openProducer, type Producer } from './producer.ts';
export { queueGauges } from './queue-gauges.ts';
export { queueCounts, type QueueCounts } from './queue-counts.ts';
