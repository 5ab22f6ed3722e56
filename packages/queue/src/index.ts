export { startApplyWorker, type ApplyWorker, type Progress } from './apply-worker.ts';
export {
  type Accepted,
  type AcceptedCount,
  acceptedStreams,
  type AcceptedStream,
  oldestUnfinished,
  oldestWaiting,
  queueCounts,
  queueGauges,
  type ShardStanding,
  shardStandings,
  sumOfShards,
} from './counts.ts';
export {
  openDashboardQueues,
  type DashboardQueue,
  type DashboardQueues,
} from './dashboard-queues.ts';
export {
  eraseJobs,
  failedAmong,
  type FailedJob,
  type FailedJobDetails,
  type FailedJobs,
  failedSubmissions,
  leadsInQueue,
  openFailedJobs,
  readJobData,
} from './jobs.ts';
export type { Outcome } from './job-runner.ts';
export { drainLeftOvers, type LeftOver } from './left-over-shards.ts';
export { openProducer, type Producer } from './producer.ts';
export {
  pauseQueue,
  queueShardsSetting,
  resumeQueue,
  shardsInUse,
  workerShardsSetting,
} from './shards.ts';
