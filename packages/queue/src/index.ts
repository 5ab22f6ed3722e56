export {
  startApplyWorker,
  type ApplyWorker,
  type ApplyWorkerOptions,
  type Progress,
} from './apply-worker.ts';
export {
  type Accepted,
  type AcceptedCount,
  acceptedStreams,
  type AcceptedStream,
  oldestUnfinished,
  oldestWaiting,
  queueCounts,
  type QueueCounts,
  queueGauges,
  type ShardStanding,
  shardStandings,
  sumOfShards,
} from './counts.ts';
export {
  openDashboardQueues,
  readJobData,
  type DashboardQueue,
  type DashboardQueues,
} from './dashboard-queues.ts';
export { eraseJobs, failedAmong, failedSubmissions, leadsInQueue } from './erase-jobs.ts';
export {
  openFailedJobs,
  type FailedFilter,
  type FailedJob,
  type FailedJobDetails,
  type FailedJobs,
  type FailedReason,
  type FailedReasons,
} from './failed-jobs.ts';
export type { Outcome } from './job-runner.ts';
export { drainLeftOvers, type DrainRound, type LeftOver } from './left-over-shards.ts';
export { openProducer, type Producer } from './producer.ts';
export {
  pauseQueue,
  queueShardsSetting,
  resumeQueue,
  shardsInUse,
  workerShardsSetting,
} from './shards.ts';
