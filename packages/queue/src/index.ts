export type { JobInfo } from './apply-worker.ts';
export {
  openDashboardQueues,
  readJobData,
  type DashboardQueue,
  type DashboardQueues,
} from './dashboard-queue.ts';
export {
  openFailedJobs,
  type FailedFilter,
  type FailedJob,
  type FailedJobDetails,
  type FailedJobs,
  type FailedReason,
  type FailedReasons,
} from './failed/failed-jobs.ts';
export { AttemptFailed, GiveBack } from './job-outcome.ts';
export { oldestWaiting } from './oldest-waiting.ts';
export { pauseQueue, resumeQueue } from './pause-queue.ts';
export { openProducer, type Producer } from './producer.ts';
export { queueGauges } from './queue-gauges.ts';
export { queueCounts, type QueueCounts } from './queue-counts.ts';
export { shardsInUse } from './shards/shards-in-use.ts';
export { shardStandings, sumOfShards, type ShardStanding } from './shards/shard-standing.ts';
export { queueShardsSetting, workerShardsSetting } from './shards/settings.ts';
export { drainLeftOvers, type DrainRound, type LeftOver } from './shards/drain-left-overs.ts';
export {
  startApplyWorker,
  type ApplyWorker,
  type ApplyWorkerOptions,
  type Progress,
} from './shards/take-shards.ts';
