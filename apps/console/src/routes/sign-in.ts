import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import {
  type AuthenticationResponseJSON,
  displayText,
  endSession,
  type FirstSignIn,
  recordAction,
  recordOutcome,
  signIn,
  signInFirst,
  signInWithKey,
} from '@leadgate/store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { originOf } from '../gate.ts';
import type { ConsoleServices } from '../services.ts';
import {
  clearSessionCookie,
  deviceOf,
  sessionTokenOf,
  setDeviceCookie,
  setSessionCookie,
} from '../session-cookie.ts';

const Form = Type.Object({
  name: Type.String({ maxLength: 300 }),
  password: Type.String({ maxLength: 1_000 }),
  code: Type.Optional(Type.String({ maxLength: 100 })),
  secondFactor: Type.Optional(Type.String({ maxLength: 20 })),
});

const base64url = Type.String({ maxLength: 10_000 });

/** `AuthenticationResponseJSON` of WebAuthn, level 3: what a browser's key answered. */
const AuthenticationAnswer = Type.Object({
  id: base64url,
  rawId: base64url,
  type: Type.Literal('public-key'),
  response: Type.Object({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
  }),
  clientExtensionResults: Type.Object({}),
});

/** What the sign-in page asks: POST /sign-in, POST /sign-in/key, POST /sign-out. */
export const signInRoutes: FastifyPluginAsyncTypebox<ConsoleServices> = async (app, services) => {
  const { store, metrics, keyring } = services;
  const count = metrics.counters({
    name: 'leadgate_sign_ins_total',
    help: 'Tries to sign in to the console by what they came to.',
    label: 'outcome',
    values: ['signed-in', 'refused', 'code-needed', 'key-needed', 'slowed', 'invalid'],
  });

  app.post(
    '/sign-in',
    { config: { public: true }, schema: { hide: true, body: Form } },
    async (request, reply) => {
      const { name, password, code = '', secondFactor = '' } = request.body;
      const browser = request.headers['user-agent'] ?? '';
      const device = deviceOf(request, displayText(name));
      const origin = originOf(request);
      const asked = { name, password, address: request.ip, device, browser, secondFactor, origin };
      const first = code.trim() !== '';
      const outcome: FirstSignIn = first
        ? await signInFirst(store, { ...asked, code })
        : await signIn(store, asked, keyring);
      return settle(reply, outcome, first);
    },
  );

  app.post(
    '/sign-in/key',
    {
      config: { public: true },
      schema: { hide: true, body: Type.Object({ answer: Type.String({ maxLength: 40_000 }) }) },
    },
    async (request, reply) => {
      const answer = keyAnswerOf(request.body.answer);
      const outcome: FirstSignIn =
        answer === null
          ? { kind: 'refused' }
          : await signInWithKey(store, {
              answer,
              origin: originOf(request),
              browser: request.headers['user-agent'] ?? '',
              address: request.ip,
              deviceOf: (name) => deviceOf(request, name),
            });
      return settle(reply, outcome);
    },
  );

  /** Counts and records what a try came to, and lets in or says what is missing. */
  async function settle(reply: FastifyReply, outcome: FirstSignIn, first = false) {
    const { request } = reply;
    count(outcome.kind);
    if (outcome.kind !== 'signed-in') {
      // Not the name: a password is typed into its field by mistake.
      request.log.warn({ outcome: outcome.kind, requestId: request.id }, 'sign-in refused');
      if (outcome.kind === 'refused') await recordFailure(request);
      return answer(reply, outcome);
    }
    const { name } = outcome.operator;
    const auditId = await recordAction(store, {
      actor: { kind: first ? 'code' : 'operator', name },
      action: first ? 'operator.first' : 'sign-in',
      subject: { operator: name },
      requestId: request.id,
    });
    await recordOutcome(store, auditId, 'done');
    const before = sessionTokenOf(request);
    if (before !== null) await endSession(store, before);
    setSessionCookie(reply, outcome.session);
    if (deviceOf(request, name) === null) setDeviceCookie(reply, name);
    return reply.redirect('/', 303);
  }

  /** Whoever it was: what is tried is bounded, as tries are slowed. */
  async function recordFailure({ ip, id }: FastifyRequest): Promise<void> {
    const auditId = await recordAction(store, {
      actor: { kind: 'operator', name: 'not signed in' },
      action: 'sign-in',
      subject: { address: ip },
      requestId: id,
    });
    await recordOutcome(store, auditId, 'refused');
  }

  app.post(
    '/sign-out',
    { config: { role: 'viewer', action: 'sign-out' }, schema: { hide: true } },
    async (request, reply) => {
      const token = sessionTokenOf(request);
      if (token !== null) await endSession(store, token);
      clearSessionCookie(reply);
      return reply.redirect('/sign-in', 303);
    },
  );
};

function keyAnswerOf(text: string): AuthenticationResponseJSON | null {
  try {
    const answer: unknown = JSON.parse(text);
    return Value.Check(AuthenticationAnswer, answer) ? answer : null;
  } catch {
    return null;
  }
}

/** Says what a try came to that did not let in: the page has the words. */
function answer(
  reply: FastifyReply,
  outcome: Exclude<FirstSignIn, { kind: 'signed-in' }>,
): FastifyReply {
  switch (outcome.kind) {
    case 'key-needed':
    case 'code-needed':
    case 'refused':
      return reply.code(401).send(outcome);
    case 'slowed':
      return reply.code(429).header('retry-after', outcome.retryAfterSeconds).send(outcome);
    case 'invalid':
      return reply.code(422).send(outcome);
  }
}
