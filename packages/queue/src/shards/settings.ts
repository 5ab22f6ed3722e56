import { Type } from 'typebox';

/** More would be more connections of every worker, and gain nothing. */
const MOST_SHARDS = 256;

/** `QUEUE_SHARDS`: over how many shards jobs are spread. The same for whoever puts jobs in. */
export const queueShardsSetting = () =>
  Type.Integer({
    description:
      'over how many shards of the queue leads are spread, the same for receivers, console and command line: one for a single Redis, some for each master of a Cluster',
    default: 1,
    minimum: 1,
    maximum: MOST_SHARDS,
  });

/** `WORKER_SHARDS`: which shards a worker takes. */
export const workerShardsSetting = () =>
  Type.Array(Type.String({ pattern: '^\\d{1,3}$' }), {
    description:
      'the shards that the worker takes, by number from 0; all there are, unless given. Each must be taken by some worker',
    default: [],
    examples: ['0,1'],
  });
