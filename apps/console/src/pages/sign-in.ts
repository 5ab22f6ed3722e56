import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FieldError } from '@leadgate/contract';
import {
  type AuthenticationResponseJSON,
  displayText,
  endSession,
  type FirstSignIn,
  hasOperators,
  recordAction,
  recordOutcome,
  signIn,
  signInFirst,
  signInWithKey,
} from '@leadgate/store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
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
import { html, type Html } from './html.ts';
import { sendDoor } from './layout.ts';

const Form = Type.Object({
  name: Type.String({ maxLength: 300 }),
  password: Type.String({ maxLength: 1_000 }),
  code: Type.Optional(Type.String({ maxLength: 100 })),
  secondFactor: Type.Optional(Type.String({ maxLength: 20 })),
});

const base64url = Type.String({ maxLength: 10_000 });

/** `AuthenticationResponseJSON` of WebAuthn, level 3: what a browser's key answered. */
const KeyAnswer = Type.Object({
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

/** The script that asks security keys, and the library that it asks by: plain JavaScript, sent as it is. */
const KEY_SCRIPT = '/static/security-key.js';
const require = createRequire(import.meta.url);
const KEY_SCRIPT_TEXT = [
  require
    .resolve('@simplewebauthn/browser')
    .replace('script/index.js', 'dist/bundle/index.umd.min.js'),
  new URL('../../static/security-key.js', import.meta.url),
]
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');

/** GET and POST /sign-in, POST /sign-in/key, POST /sign-out. */
export const signInRoutes: FastifyPluginAsyncTypebox<ConsoleServices> = async (app, services) => {
  const { store, metrics, keyring } = services;
  const count = metrics.counters({
    name: 'leadgate_sign_ins_total',
    help: 'Tries to sign in to the console by what they came to.',
    label: 'outcome',
    values: ['signed-in', 'refused', 'code-needed', 'key-needed', 'slowed', 'invalid'],
  });

  app.get(KEY_SCRIPT, { config: { public: true }, schema: { hide: true } }, (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').send(KEY_SCRIPT_TEXT),
  );

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
      return sendSignInPage(reply, services, answerTo(reply, outcome));
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
    return Value.Check(KeyAnswer, answer) ? answer : null;
  } catch {
    return null;
  }
}

function answerTo(
  reply: FastifyReply,
  outcome: Exclude<FirstSignIn, { kind: 'signed-in' }>,
): SignInPage {
  switch (outcome.kind) {
    case 'key-needed': {
      const { options, orCode } = outcome;
      const problem =
        options !== null
          ? 'Now your security key.'
          : orCode
            ? 'Your security keys are for another address of this console: type the code of your authenticator.'
            : 'Your security keys are for another address of this console: sign in there.';
      return { status: 401, problem, keyOptions: options, asksCode: orCode };
    }
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

interface SignInPage {
  status: number;
  problem?: string;
  asksCode?: boolean;
  /** What a security key is asked with, after the right name and password. */
  keyOptions?: object | null;
}

/** The page with the form that signs in, or makes the first operator if there is none. */
async function sendSignInPage(
  reply: FastifyReply,
  { store }: Pick<ConsoleServices, 'store'>,
  { status, problem, asksCode = false, keyOptions = null }: SignInPage,
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
    ${
      keyOptions !== null &&
      html`<form
          id="sign-in-key"
          method="post"
          action="/sign-in/key"
          data-options="${JSON.stringify(keyOptions)}"
        >
          <input type="hidden" name="answer" />
          <button>Use your security key</button>
        </form>
        <p id="key-says" role="status"></p>
        ${asksCode && html`<h2>Or with a code</h2>`}`
    }
    ${(keyOptions === null || asksCode) && form({ first, asksCode })}`;
  return sendDoor(reply.code(status), {
    ...{ title: first ? 'First sign-in' : 'Sign in', body },
    ...(keyOptions !== null && { script: KEY_SCRIPT }),
  });
}

/** Name, password, and the code that is asked for. */
const form = ({ first, asksCode }: { first: boolean; asksCode: boolean }): Html =>
  html`<form method="post" action="/sign-in">
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
