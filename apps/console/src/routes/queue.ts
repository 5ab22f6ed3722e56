import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { pauseQueue, resumeQueue, shardStandings, sumOfShards } from '@leadgate/queue';
import { Type } from 'typebox';
import type { ApiServices } from '../services.ts';
import { Nullable, PROBLEM_ANSWERS } from './route-schema.ts';

const Standing = {
  waiting: Type.Integer(),
  active: Type.Integer(),
  delayed: Type.Integer({ description: 'Waiting for their next attempt.' }),
  failed: Type.Integer({ description: 'Out of attempts; kept until somebody sees to them.' }),
  paused: Type.Boolean({ description: 'Whether an operator has paused it.' }),
  oldestWaitingMs: Nullable(Type.Integer({ description: 'Null where none waits.' })),
};

const QueueView = Type.Object({
  ...Standing,
  shards: Type.Array(
    Type.Object({
      shard: Type.Integer(),
      inUse: Type.Boolean({ description: 'Whether it is written to; others are left over.' }),
      ...Standing,
    }),
  ),
});

/** The queue: how it stands, pause, resume. */
export const queueRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, { redis }) => {
  const response = { 200: QueueView, ...PROBLEM_ANSWERS };
  const stand = async () => {
    const shards = await shardStandings(redis);
    return { ...sumOfShards(shards), shards };
  };

  app.get(
    '/queue',
    { schema: { operationId: 'showQueue', summary: 'How the queue stands', response } },
    stand,
  );

  app.post(
    '/queue/pause',
    {
      config: { action: 'queue.pause' },
      schema: {
        operationId: 'pauseQueue',
        summary: 'Let leads wait: no worker takes jobs until the queue is resumed',
        response,
      },
    },
    async () => {
      await pauseQueue(redis);
      return stand();
    },
  );

  app.post(
    '/queue/resume',
    {
      config: { action: 'queue.resume' },
      schema: { operationId: 'resumeQueue', summary: 'Let workers take jobs again', response },
    },
    async () => {
      await resumeQueue(redis);
      return stand();
    },
  );
};
