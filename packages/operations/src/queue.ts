import type { RedisConnection } from '@leadgate/boot';
import { pauseQueue, resumeQueue, shardStandings, sumOfShards } from '@leadgate/queue';
import { readFlow } from '@leadgate/store';
import { Type } from 'typebox';
import { operation } from './operation.ts';
import { Nullable } from './schema.ts';

const standing = {
  waiting: Type.Integer(),
  active: Type.Integer(),
  delayed: Type.Integer({ description: 'Waiting for their next attempt.' }),
  failed: Type.Integer({ description: 'Out of attempts; kept until somebody sees to them.' }),
  paused: Type.Boolean({ description: 'Whether an operator has paused it.' }),
  oldestWaitingMs: Nullable(Type.Integer({ description: 'Null if none waits.' })),
};

const QueueView = Type.Object({
  ...standing,
  shards: Type.Array(
    Type.Object({
      shard: Type.Integer(),
      inUse: Type.Boolean({ description: 'Whether it is written to; others are left over.' }),
      ...standing,
    }),
  ),
});

async function stand(redis: RedisConnection) {
  const shards = await shardStandings(redis);
  return { ...sumOfShards(shards), shards };
}

const NONE = Type.Object({});

/** The queue of submissions on their way to Postgres. */
export const queue = {
  show: operation({
    name: 'queue.show',
    id: 'showQueue',
    method: 'GET',
    path: '/queue',
    summary: 'How the queue stands',
    input: NONE,
    output: QueueView,
    run: async (_input, { redis }) => stand(await redis()),
  }),

  flow: operation({
    name: 'queue.flow',
    id: 'queueFlow',
    method: 'GET',
    path: '/queue/flow',
    summary: 'What came into the queue and what came out of it, by minute',
    description:
      'Of all workspaces. Minutes without either are left out; the newest ones are counted within a minute. What is replayed or retried is in neither.',
    input: Type.Object({
      minutes: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_880, default: 60 })),
    }),
    output: Type.Array(
      Type.Object({
        at: Type.String({ description: 'The begin of the minute (UTC).' }),
        accepted: Type.Integer(),
        finished: Type.Integer({ description: 'Stored, held, or dropped.' }),
      }),
    ),
    run: ({ minutes = 60 }, { store }) => readFlow(store, new Date(Date.now() - minutes * 60_000)),
  }),

  pause: operation({
    name: 'queue.pause',
    id: 'pauseQueue',
    method: 'POST',
    path: '/queue/pause',
    summary: 'Let leads wait: no worker takes jobs until the queue is resumed',
    input: NONE,
    output: QueueView,
    run: async (_input, { redis }) => {
      await pauseQueue(await redis());
      return stand(await redis());
    },
  }),

  resume: operation({
    name: 'queue.resume',
    id: 'resumeQueue',
    method: 'POST',
    path: '/queue/resume',
    summary: 'Let workers take jobs again',
    input: NONE,
    output: QueueView,
    run: async (_input, { redis }) => {
      await resumeQueue(await redis());
      return stand(await redis());
    },
  }),
};
