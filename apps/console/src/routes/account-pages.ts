import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { loadNoun, Refusal, type Nouns } from '@leadgate/operations';
import { findOperator } from '@leadgate/store';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { actorOf } from '../auth/actor.ts';
import { accountPage, type Account } from '../pages/account-page.ts';
import { sendPage } from '../pages/layout.ts';
import { perform } from '../perform.ts';
import { ProblemError } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import { idParams } from './route-schema.ts';

const Text = Type.String({ maxLength: 1_000 });

/** /account: password, second factor and sessions of who is signed in. */
export const accountPageRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (
  app,
  { store, connections },
) => {
  const me: Nouns['me'] = await loadNoun('me');
  const run = { operation: me.show };

  async function send(reply: FastifyReply, shown: Partial<Account>): Promise<FastifyReply> {
    const { operatorId } = actorOf(reply.request);
    const operator = operatorId === undefined ? null : await findOperator(store, operatorId);
    const sessions = await perform(reply, me.sessions, {}, connections);
    if (operator === null || sessions instanceof Refusal) throw new ProblemError('not-found');
    const { hasSecondFactor } = operator;
    const page = { hasSecondFactor, sessions, problem: null, done: null, pending: null, ...shown };
    if (page.problem !== null) reply.code(422);
    return sendPage(reply, { title: 'Account', path: '/account', body: accountPage(page) });
  }

  app.get('/account', { config: run, schema: { hide: true } }, (_request, reply) =>
    send(reply, {}),
  );

  app.post(
    '/account/credentials',
    {
      config: { operation: me.password },
      schema: { hide: true, body: Type.Object({ current: Text, password: Text }) },
    },
    async ({ body }, reply) => {
      const result = await perform(reply, me.password, body, connections);
      return send(
        reply,
        result instanceof Refusal
          ? { problem: result.detail }
          : { done: 'Your password is changed; your other sessions have ended.' },
      );
    },
  );

  app.post(
    '/account/second-factor',
    {
      config: { operation: me.beginSecondFactor },
      schema: {
        hide: true,
        body: Type.Object({
          do: Type.Union([Type.Literal('begin'), Type.Literal('confirm'), Type.Literal('drop')]),
          current: Type.Optional(Text),
          code: Type.Optional(Type.String({ maxLength: 20 })),
        }),
      },
    },
    async ({ body: { do: what, current = '', code = '' } }, reply) => {
      if (what === 'begin') {
        const pending = await perform(reply, me.beginSecondFactor, { current }, connections);
        return send(reply, pending instanceof Refusal ? { problem: pending.detail } : { pending });
      }
      const result =
        what === 'confirm'
          ? await perform(reply, me.confirmSecondFactor, { code }, connections)
          : await perform(reply, me.dropSecondFactor, { current }, connections);
      if (result instanceof Refusal) return send(reply, { problem: result.detail });
      return send(reply, {
        done:
          what === 'confirm' ? 'The authenticator is in force.' : 'No code is asked for any more.',
      });
    },
  );

  app.post(
    '/account/sessions/:sessionId/end',
    {
      config: { operation: me.endSession },
      schema: { hide: true, params: idParams('sessionId') },
    },
    async ({ params }, reply) => {
      const result = await perform(reply, me.endSession, params, connections);
      return send(
        reply,
        result instanceof Refusal
          ? { problem: result.detail }
          : { done: 'That session has ended.' },
      );
    },
  );
};
