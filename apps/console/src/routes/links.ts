import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { putLinks } from '@leadgate/intake';
import {
  createLink,
  expireLink,
  findLink,
  linkEntries,
  listLinks,
  rotateLink,
  setLinkState,
  updateLink,
  wholeGuard,
  type Link,
} from '@leadgate/store';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { viewLink } from '../link-view.ts';
import { ProblemError } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import { tellRedis } from '../tell-redis.ts';
import { idParams, Nullable, PROBLEM_ANSWERS, Time, Uuid } from './route-schema.ts';

const settings = {
  label: Type.String({ description: 'Shown to operators only; need not be unique.' }),
  mode: Type.Union([Type.Literal('strict'), Type.Literal('lenient')], {
    description: 'strict refuses a lead with a bad field, lenient sets the field aside.',
  }),
  requireIdentity: Type.Boolean({ description: 'Whether an email or a telephone is needed.' }),
  origins: Type.Array(Type.String(), { description: 'Sites that may post; none: any.' }),
  allowServers: Type.Boolean({
    description: 'With a list of origins: whether a request without an Origin may post.',
  }),
  redirectUrl: Nullable(
    Type.String({ description: 'Where a plain HTML form is sent afterwards.' }),
  ),
  linkLimit: Nullable(Type.Integer({ description: 'Posts a minute; null: the receiver’s own.' })),
  addressLimit: Nullable(Type.Integer({ description: 'Posts a minute from one address.' })),
};

const honeypot = Nullable(
  Type.String({ description: 'Posts that fill in this field are held: no person sees it.' }),
);
const minFillSeconds = Nullable(
  Type.Number({ description: 'Posts sent sooner after the page opened are held.' }),
);
const captcha = {
  verifyUrl: Type.String({ description: 'Of Turnstile, hCaptcha or reCAPTCHA.' }),
  fail: Type.Union([Type.Literal('open'), Type.Literal('closed')], {
    description: 'What becomes of a post that could not be checked: taken, or held.',
  }),
};
const GuardView = Type.Object({
  honeypot,
  minFillSeconds,
  captcha: Nullable(Type.Object(captcha)),
});
const GuardChanges = Type.Object(
  {
    honeypot: Type.Optional(honeypot),
    minFillSeconds: Type.Optional(minFillSeconds),
    captcha: Type.Optional(
      Nullable(
        Type.Object(
          {
            ...Type.Partial(Type.Object(captcha)).properties,
            secret: Type.Optional(Type.String({ description: 'Is never shown again.' })),
          },
          { additionalProperties: false },
        ),
      ),
    ),
  },
  { additionalProperties: false, description: 'What it holds posts back by.' },
);

const LinkView = Type.Object({
  id: Uuid,
  workspaceId: Uuid,
  workspaceName: Type.String(),
  state: Type.String(),
  status: Type.String({ description: 'open, disabled or expired.' }),
  code: Type.String({ description: 'The code in use.' }),
  captureUrl: Nullable(Type.String()),
  createdAt: Time,
  expiresAt: Nullable(Time),
  ...settings,
  guard: GuardView,
  codes: Type.Array(
    Type.Object({
      code: Type.String(),
      createdAt: Time,
      expiresAt: Nullable(Time),
      expired: Type.Boolean(),
    }),
  ),
});

const changes = {
  ...Type.Partial(Type.Object(settings)).properties,
  guard: Type.Optional(GuardChanges),
};
const NewLink = Type.Object(
  { ...changes, expiresAt: Type.Optional(Nullable(Time)) },
  { additionalProperties: false },
);
const LinkChangesBody = Type.Object(changes, { additionalProperties: false, minProperties: 1 });

/** Capture links: list, create, show, change, disable, enable, rotate, expire. */
export const linkRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, services) => {
  const { store, redis, receiverUrl } = services;
  const answers = { 200: LinkView, ...PROBLEM_ANSWERS };
  const view = (link: Link) => viewLink(link, receiverUrl);

  const changed = async (request: FastifyRequest, link: Link | null) => {
    if (link === null) throw new ProblemError('not-found');
    await tellRedis(request, async () => putLinks(redis, await linkEntries(store, link.id)));
    return view(link);
  };

  app.get(
    '/links',
    {
      schema: {
        operationId: 'listLinks',
        summary: 'List capture links, closed ones too',
        querystring: Type.Object({ workspaceId: Type.Optional(Uuid) }),
        response: { 200: Type.Array(LinkView), ...PROBLEM_ANSWERS },
      },
    },
    async ({ query }) => (await listLinks(store, query.workspaceId)).map(view),
  );

  app.post(
    '/workspaces/:workspaceId/links',
    {
      config: { action: 'link.create', subject: ['label'] },
      schema: {
        operationId: 'createLink',
        summary: 'Create an open capture link',
        params: idParams('workspaceId'),
        body: NewLink,
        response: { 201: LinkView, ...PROBLEM_ANSWERS },
      },
    },
    async (request, reply) => {
      const { body } = request;
      const outcome = await createLink(store, request.params.workspaceId, {
        label: body.label ?? '',
        mode: body.mode ?? 'strict',
        requireIdentity: body.requireIdentity ?? false,
        origins: body.origins ?? [],
        allowServers: body.allowServers ?? true,
        redirectUrl: body.redirectUrl ?? null,
        linkLimit: body.linkLimit ?? null,
        addressLimit: body.addressLimit ?? null,
        expiresAt: typeof body.expiresAt === 'string' ? new Date(body.expiresAt) : null,
        guard: wholeGuard(body.guard),
      });
      if (outcome.kind === 'invalid') throw new ProblemError('invalid', { errors: outcome.errors });
      if (outcome.kind === 'unknown-workspace') throw new ProblemError('not-found');
      return reply.code(201).send(await changed(request, outcome.link));
    },
  );

  app.get(
    '/links/:linkId',
    {
      schema: {
        operationId: 'showLink',
        summary: 'Show a capture link',
        params: idParams('linkId'),
        response: answers,
      },
    },
    async ({ params }) => {
      const link = await findLink(store, params.linkId);
      if (link === null) throw new ProblemError('not-found');
      return view(link);
    },
  );

  app.patch(
    '/links/:linkId',
    {
      config: { action: 'link.set' },
      schema: {
        operationId: 'changeLink',
        summary: 'Change settings of a link; what is not named stays',
        params: idParams('linkId'),
        body: LinkChangesBody,
        response: answers,
      },
    },
    async (request) => {
      const outcome = await updateLink(store, request.params.linkId, request.body);
      if (outcome.kind === 'invalid') throw new ProblemError('invalid', { errors: outcome.errors });
      return changed(request, outcome.kind === 'updated' ? outcome.link : null);
    },
  );

  for (const [verb, state, summary] of [
    ['disable', 'disabled', 'Close a link until it is enabled: posts are answered 410'],
    ['enable', 'open', 'Open a disabled link again'],
  ] as const)
    app.post(
      `/links/:linkId/${verb}`,
      {
        config: { action: `link.${verb}` },
        schema: {
          operationId: `${verb}Link`,
          summary,
          params: idParams('linkId'),
          response: answers,
        },
      },
      async (request) => changed(request, await setLinkState(store, request.params.linkId, state)),
    );

  app.post(
    '/links/:linkId/rotate',
    {
      config: { action: 'link.rotate', subject: ['overlapSeconds'] },
      schema: {
        operationId: 'rotateLink',
        summary: 'Give a link a new code; the old one works on for the overlap',
        params: idParams('linkId'),
        body: Type.Object(
          {
            overlapSeconds: Type.Optional(
              Type.Integer({ minimum: 0, maximum: 31_536_000, description: 'A week by default.' }),
            ),
          },
          { additionalProperties: false },
        ),
        response: answers,
      },
    },
    async (request) => {
      const { overlapSeconds = 604_800 } = request.body;
      const outcome = await rotateLink(store, request.params.linkId, overlapSeconds);
      if (outcome.kind === 'expired')
        throw new ProblemError('conflict', {
          detail: 'The link is expired: give it an end first.',
        });
      return changed(request, outcome.kind === 'rotated' ? outcome.link : null);
    },
  );

  app.post(
    '/links/:linkId/expire',
    {
      config: { action: 'link.expire', subject: ['at'] },
      schema: {
        operationId: 'expireLink',
        summary: 'End a link at a time, at once, or never',
        params: idParams('linkId'),
        body: Type.Object(
          { at: Type.Union([Time, Type.Literal('now'), Type.Null()]) },
          { additionalProperties: false },
        ),
        response: answers,
      },
    },
    async (request) => {
      const { at } = request.body;
      const end = at === null || at === 'now' ? at : new Date(at);
      return changed(request, await expireLink(store, request.params.linkId, end));
    },
  );
};
