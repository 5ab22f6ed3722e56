import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FieldError } from '@leadgate/contract';
import {
  displayText,
  endSession,
  type FirstSignIn,
  hasOperators,
  recordAction,
  recordOutcome,
  secondFactorKey,
  signIn,
  signInFirst,
} from '@leadgate/store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { ConsoleServices } from '../services.ts';
import {
  clearSessionCookie,
  deviceOf,
  sessionTokenOf,
  setDeviceCookie,
  setSessionCookie,
} from '../session-cookie.ts';
import { html } from './html.ts';
import { sendDoor } from './layout.ts';

const Form = Type.Object({
  name: Type.String({ maxLength: 300 }),
  password: Type.String({ maxLength: 1_000 }),
  code: Type.Optional(Type.String({ maxLength: 100 })),
  secondFactor: Type.Optional(Type.String({ maxLength: 20 })),
});

/** GET and POST /sign-in, POST /sign-out. */
export const signInRoutes: FastifyPluginAsyncTypebox<ConsoleServices> = async (app, services) => {
  const { store, metrics } = services;
  const key = secondFactorKey(services.secret);
  const count = metrics.counters({
    name: 'leadgate_sign_ins_total',
    help: 'Tries to sign in to the console by what they came to.',
    label: 'outcome',
    values: ['signed-in', 'refused', 'code-needed', 'slowed', 'invalid'],
  });

  app.get('/sign-in', { config: { public: true }, schema: { hide: true } }, (_request, reply) =>
    sendSignInPage(reply, services, { status: 200 }),
  );

  app.post(
    '/sign-in',
    { config: { public: true }, schema: { hide: true, body: Form } },
    async (request, reply) => {
      const { name, password, code = '', secondFactor = '' } = request.body;
      const browser = request.headers['user-agent'] ?? '';
      const device = deviceOf(request, displayText(name));
      const asked = { name, password, address: request.ip, device, browser, secondFactor };
      const first = code.trim() !== '';
      const outcome: FirstSignIn = first
        ? await signInFirst(store, { ...asked, code })
        : await signIn(store, asked, key);
      count(outcome.kind);
      if (outcome.kind !== 'signed-in') {
        // Not the name: a password is typed into its field by mistake.
        request.log.warn({ outcome: outcome.kind, requestId: request.id }, 'sign-in refused');
        if (outcome.kind === 'refused') await recordFailure(request);
        return sendSignInPage(reply, services, answerTo(reply, outcome));
      }
      const auditId = await recordAction(store, {
        actor: { kind: first ? 'code' : 'operator', name: outcome.operator.name },
        action: first ? 'operator.first' : 'sign-in',
        subject: { operator: outcome.operator.name },
        requestId: request.id,
      });
      await recordOutcome(store, auditId, 'done');
      const before = sessionTokenOf(request);
      if (before !== null) await endSession(store, before);
      setSessionCookie(reply, outcome.session);
      if (device === null) setDeviceCookie(reply, outcome.operator.name);
      return reply.redirect('/', 303);
    },
  );

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

function answerTo(
  reply: FastifyReply,
  outcome: Exclude<FirstSignIn, { kind: 'signed-in' }>,
): Parameters<typeof sendSignInPage>[2] {
  switch (outcome.kind) {
    case 'code-needed':
      return {
        status: 401,
        problem: 'Type the code that your authenticator shows now, too.',
        asksCode: true,
      };
    case 'refused':
      return { status: 401, problem: 'That is not right. Nothing more can be told.' };
    case 'slowed':
      reply.header('retry-after', outcome.retryAfterSeconds);
      return {
        status: 429,
        problem: `Too many tries. Wait ${outcome.retryAfterSeconds} seconds.`,
      };
    case 'invalid':
      return { status: 422, problem: sentences(outcome.errors) };
  }
}

const sentences = (errors: FieldError[]): string => errors.map(({ detail }) => detail).join(' ');

/** The page with the form that signs in, or makes the first operator if there is none. */
async function sendSignInPage(
  reply: FastifyReply,
  { store }: Pick<ConsoleServices, 'store'>,
  { status, problem, asksCode = false }: { status: number; problem?: string; asksCode?: boolean },
): Promise<FastifyReply> {
  const first = !(await hasOperators(store));
  const body = html`<h1>${first ? 'Welcome to Leadgate' : 'Leadgate'}</h1>
    ${
      first &&
      html`<p>
          Nobody can sign in yet. Type the one-time code that the console printed when it started,
          and choose a name and a password.
        </p>
        <p class="soft">Is it older than 15 minutes? Start the console again for another one.</p>`
    }
    ${problem !== undefined && html`<p class="note bad" role="alert">${problem}</p>`}
    <form method="post" action="/sign-in">
      ${
        first &&
        html`<label for="code">One-time code</label>
          <input
            id="code"
            name="code"
            required
            autocomplete="one-time-code"
            spellcheck="false"
            autofocus
          />`
      }
      <label for="name">Name</label>
      <input
        id="name"
        name="name"
        required
        autocomplete="username"
        spellcheck="false"
        ${!first && html`autofocus`}
      />
      <label for="password">Password</label>
      <input
        id="password"
        name="password"
        type="password"
        required
        ${
          first
            ? html`minlength="10" autocomplete="new-password"`
            : html`autocomplete="current-password"`
        }
      />
      ${
        asksCode &&
        html`<label for="second-factor">Code of your authenticator</label>
          <input
            id="second-factor"
            name="secondFactor"
            required
            inputmode="numeric"
            autocomplete="one-time-code"
          />`
      }
      <button>${first ? 'Begin' : 'Sign in'}</button>
    </form>`;
  return sendDoor(reply.code(status), first ? 'First sign-in' : 'Sign in', body);
}
