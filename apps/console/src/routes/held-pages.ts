import { reaches } from '@leadgate/contract';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { releaseHeld } from '@leadgate/operations';
import { decideHeld, listHeld, showHeld } from '@leadgate/store';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { actorOf } from '../auth/actor.ts';
import { forRole } from '../mask/mask.ts';
import { heldDetailsPage, heldPage } from '../pages/held-pages.ts';
import { sendPage } from '../pages/layout.ts';
import { ProblemError } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import { HeldStateSchema, idParams, Uuid } from './route-schema.ts';

const LISTED = 50;

/** The pages of what was caught as spam, and the buttons on them. */
export const heldPageRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, services) => {
  const { store } = services;
  const hide = true;

  app.get(
    '/held',
    {
      schema: {
        hide,
        querystring: Type.Object({
          state: Type.Optional(HeldStateSchema),
          before: Type.Optional(Uuid),
        }),
      },
    },
    async (request, reply) => {
      const { role } = actorOf(request);
      const { state = 'held', before } = request.query;
      const filter = { state, ...(before !== undefined && { before }) };
      const held = await listHeld(store, filter, LISTED);
      const body = heldPage(forRole(role, held), {
        state,
        acts: reaches(role, 'operator'),
        more: held.length === LISTED,
      });
      return sendPage(reply, { title: 'Held', path: '/held', body });
    },
  );

  const show = async (reply: FastifyReply, heldId: string, problem: string | null = null) => {
    const held = await showHeld(store, heldId);
    if (held === null) throw new ProblemError('not-found');
    const { role } = actorOf(reply.request);
    const body = heldDetailsPage(forRole(role, held), { acts: reaches(role, 'operator'), problem });
    return sendPage(reply, { title: 'Held post', path: '/held', body });
  };

  app.get('/held/:heldId', { schema: { hide, params: idParams('heldId') } }, (request, reply) =>
    show(reply, request.params.heldId),
  );

  app.post(
    '/held/:heldId/release',
    { config: { action: 'held.release' }, schema: { hide, params: idParams('heldId') } },
    async (request, reply) => {
      const { heldId } = request.params;
      const outcome = await releaseHeld(services, heldId);
      if (outcome.kind === 'unknown') throw new ProblemError('not-found');
      if (outcome.kind === 'behind')
        return show(reply.code(503), heldId, 'Redis is being refilled. Try again in a moment.');
      return reply.redirect('/held', 303);
    },
  );

  app.post(
    '/held/:heldId/discard',
    { config: { action: 'held.discard' }, schema: { hide, params: idParams('heldId') } },
    async (request, reply) => {
      const { heldId } = request.params;
      const state = await decideHeld(store, heldId, 'discarded');
      if (state === null) throw new ProblemError('not-found');
      if (state !== 'discarded')
        return show(reply.code(409), heldId, 'It was released before, and is a submission now.');
      return reply.redirect('/held', 303);
    },
  );
};
