import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Role } from '@leadgate/contract';
import {
  Refusal,
  shownTo,
  tail,
  type TailEvent,
  type TailOptions,
  Uuid,
} from '@leadgate/operations';
import { findLink, listWorkspaces } from '@leadgate/store';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type Actor, actorOf, findActor, roleInScope } from '../gate.ts';
import { ProblemError, PROBLEM_ANSWERS } from '../problem.ts';
import type { ApiServices } from '../services.ts';

/** Each asks Postgres and Redis every second. */
const MOST_AT_ONCE = 20;
/** Of one person or token, however many windows are open. */
const MOST_OF_ONE = 3;
const LOOK_EVERY_MS = 1_000;
/** Says that it is still there, and asks whether its reader still may read. */
const LOOKS_A_HEARTBEAT = 10;
/** Browsers come again by themselves. */
const LONGEST_MS = 30 * 60_000;

/** What happens, as it happens: submissions, refused bodies, failures. */
export const tailRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, services) => {
  const { store, failed } = services;
  const open: string[] = [];

  app.get(
    '/tail',
    {
      config: {
        action: 'tail',
        scope: 'linkId',
      },
      schema: {
        operationId: 'tail',
        summary: 'Follow submissions, refused bodies and failures as they happen',
        description:
          'text/event-stream: events submission, rejected and failed, each with its JSON; of one link or workspace, or of all. Telephones and documents are masked, for viewers everything.',
        querystring: Type.Object({
          workspaceId: Type.Optional(Uuid),
          linkId: Type.Optional(Uuid),
        }),
        response: PROBLEM_ANSWERS,
      },
    },
    async (request, reply) => {
      const { linkId } = request.query;
      const link = linkId === undefined ? null : await findLink(store, linkId);
      if (linkId !== undefined && link === null) throw new ProblemError('not-found');
      const workspaceId = link?.workspaceId ?? request.query.workspaceId;
      const of =
        workspaceId === undefined ? null : { workspaceId, ...(linkId !== undefined && { linkId }) };
      const { kind, name } = actorOf(request);
      const mine = `${kind} ${name}`;
      const most = open.filter((one) => one === mine).length >= MOST_OF_ONE;
      if (most || open.length >= MOST_AT_ONCE)
        throw new ProblemError('slowed', {
          detail: most
            ? `You follow in ${MOST_OF_ONE} windows already.`
            : `${MOST_AT_ONCE} are open already.`,
          retryAfterSeconds: 60,
        });
      open.push(mine);
      const gone = new AbortController();
      const timer = setTimeout(() => gone.abort(), LONGEST_MS);
      reply.raw.once('close', () => {
        open.splice(open.indexOf(mine), 1);
        clearTimeout(timer);
        gone.abort();
      });
      const stream = new PassThrough();
      follow(request, of, { stream, gone })
        .catch((err: unknown) => {
          if (!gone.signal.aborted)
            request.log.warn({ err, requestId: request.id }, 'following ended');
        })
        .finally(() => stream.end());
      return reply.type('text/event-stream; charset=utf-8').send(stream);
    },
  );

  async function roleNow(request: FastifyRequest, actor: Actor): Promise<Role | null> {
    const role = await roleInScope(store, request, actor);
    return role instanceof Refusal ? null : role;
  }

  async function follow(
    request: FastifyRequest,
    of: TailOptions['of'] | null,
    { stream, gone }: { stream: PassThrough; gone: AbortController },
  ): Promise<void> {
    const { signal } = gone;
    const role = await roleNow(request, actorOf(request));
    // Whoever reads slowly is waited for, and nothing is looked up meanwhile.
    const write = async (text: string): Promise<void> => {
      if (!stream.write(text)) await once(stream, 'drain', { signal });
    };
    let looks = 0;
    const wait = async (): Promise<void> => {
      if (looks++ % LOOKS_A_HEARTBEAT === 0) {
        const still = await findActor(store, request);
        if (still === null || (await roleNow(request, still)) !== role) return gone.abort();
        await write(': still here\n\n');
      }
      await delay(LOOK_EVERY_MS, undefined, { signal });
    };
    const events = tail(
      { store, failed },
      {
        ...(of && { of }),
        workspaceIds: async () => (await listWorkspaces(store)).map(({ id }) => id),
        signal,
        wait,
      },
    );
    await write('retry: 3000\n\n');
    for await (const event of events) await write(textOf(shownTo(role, event, 'list')));
  }
};

const textOf = (event: TailEvent): string =>
  `event: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`;
