export { excelFile, type ExcelParts } from './excel-file.ts';
export { startRedisCluster, type OwnCluster } from './own-cluster.ts';
export { startPostgresServer, startRedisServer, type OwnServer } from './own-server.ts';
export { startRecordingEndpoint, type RecordingEndpoint } from './recording-endpoint.ts';
export { sampleLink } from './sample-link.ts';
export { bareSubmission, keysOf, sampleSubmission } from './sample-submission.ts';
export { startSilentProxy, type SilentProxy } from './silent-proxy.ts';
export { testDatabase } from './test-database.ts';
export { testRedis } from './test-redis.ts';
