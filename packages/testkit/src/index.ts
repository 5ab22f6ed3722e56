export { excelFile, type ExcelParts } from './excel-file.ts';
export { startFakeHubSpot } from './fake-hubspot.ts';
export { folderForTest, forTest } from './for-test.ts';
export {
  type OwnCluster,
  type OwnServer,
  type SilentProxy,
  startPostgresServer,
  startRedisCluster,
  startRedisServer,
  startSilentProxy,
} from './own-server.ts';
export { startRecordingEndpoint, type RecordingEndpoint } from './recording-endpoint.ts';
export { sampleLink } from './sample-link.ts';
export { bareSubmission, keysOf, sampleSubmission } from './sample-submission.ts';
export { testDatabase, untilBlocked } from './test-database.ts';
export { testRedis } from './test-redis.ts';
