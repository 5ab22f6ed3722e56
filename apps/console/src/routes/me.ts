import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { actorOf } from '../auth/actor.ts';
import { PROBLEM_ANSWERS } from './route-schema.ts';

/** Who is asking. */
export const meRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const Me = Type.Object({ kind: Type.String(), name: Type.String(), role: Type.String() });
  app.get(
    '/me',
    {
      schema: {
        operationId: 'me',
        summary: 'Who you are',
        response: { 200: Me, ...PROBLEM_ANSWERS },
      },
    },
    (request) => actorOf(request),
  );
};
