import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { loadNoun, Refusal } from '@leadgate/operations';
import type { AuditEntry, SecurityKey, SessionSummary } from '@leadgate/store';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { outputOf, perform } from '../perform.ts';
import { idParams } from '../validate.ts';
import type { ApiServices } from '../services.ts';
import { html, type Html, tableOf, timeOf } from './html.ts';
import { sendPage } from './layout.ts';
import { KEY_SCRIPT } from './sign-in.ts';

const Text = Type.String({ maxLength: 1_000 });

/** /account: password, second factor and sessions of who is signed in. /audit: what was done by whom. */
export const accountPageRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (
  app,
  { connections },
) => {
  const [me, audit] = await Promise.all([loadNoun('me'), loadNoun('audit')]);
  const run = { operation: me.show };

  async function send(reply: FastifyReply, shown: Partial<Account>): Promise<FastifyReply> {
    const [factor, sessions] = await Promise.all([
      outputOf(reply, me.secondFactor, {}, connections),
      outputOf(reply, me.sessions, {}, connections),
    ]);
    const page = { ...factor, sessions, problem: null, done: null, pending: null, ...shown };
    if (page.problem !== null) reply.code(422);
    const body = accountPage(page);
    return sendPage(reply, { title: 'Account', path: '/account', body, script: KEY_SCRIPT });
  }

  const answer = (reply: FastifyReply, result: null | Refusal, done: string) =>
    send(reply, result instanceof Refusal ? { problem: result.detail } : { done });

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
      return answer(reply, result, 'Your password is changed; your other sessions have ended.');
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
      const done =
        what === 'confirm' ? 'The authenticator is in force.' : 'No code is asked for any more.';
      return answer(reply, result, done);
    },
  );

  app.post(
    '/account/security-keys/:keyId/drop',
    {
      config: { operation: me.dropSecurityKey },
      schema: { hide: true, params: idParams('keyId'), body: Type.Object({ current: Text }) },
    },
    async ({ params, body }, reply) => {
      const result = await perform(reply, me.dropSecurityKey, { ...params, ...body }, connections);
      return answer(reply, result, 'That key is asked for no more.');
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
      return answer(reply, result, 'That session has ended.');
    },
  );

  app.get(
    '/audit',
    {
      config: { operation: audit.list },
      schema: { hide: true, querystring: Type.Object({ before: Type.Optional(Type.Integer()) }) },
    },
    async ({ query: { before } }, reply) => {
      const entries = await outputOf(reply, audit.list, { before, limit: 100 }, connections);
      return sendPage(reply, { title: 'Audit log', path: '/audit', body: auditPage(entries) });
    },
  );
};

interface Account {
  authenticator: boolean;
  keys: SecurityKey[];
  sessions: (SessionSummary & { current: boolean })[];
  problem: string | null;
  done: string | null;
  /** Of an authenticator to be confirmed; shown this once. */
  pending: { uri: string; secret: string } | null;
}

/** What somebody may change of themselves: password, second factor, sessions. */
function accountPage({ authenticator, keys, sessions, problem, done, pending }: Account): Html {
  return html`<h1>Account</h1>
    ${problem !== null && html`<p class="note bad" role="alert">${problem}</p>`}
    ${done !== null && html`<p class="note" role="status">${done}</p>`}
    <h2>Password</h2>
    <form method="post" action="/account/credentials">
      ${currentPassword('password')}
      <label for="new">New password</label>
      <input
        id="new"
        name="password"
        type="password"
        required
        minlength="10"
        autocomplete="new-password"
      />
      <button>Change password</button>
    </form>
    <h2>Second factor</h2>
    ${
      pending === null
        ? html`<p>
              ${authenticator ? 'A code of your authenticator is asked for at sign-in.' : 'No authenticator yet.'}
            </p>
            <form method="post" action="/account/second-factor">
              ${currentPassword('second-factor')}
              <button name="do" value="begin">Set up an authenticator</button>
              ${authenticator && html`<button name="do" value="drop">Ask for no code any more</button>`}
            </form>`
        : html`<p>
              Give this to your authenticator, and type the code that it shows. It is shown this
              once.
            </p>
            <p><a href="${pending.uri}">Open in an authenticator</a></p>
            <p><code>${pending.secret}</code></p>
            <form method="post" action="/account/second-factor">
              <label for="code">Code</label>
              <input
                id="code"
                name="code"
                required
                inputmode="numeric"
                autocomplete="one-time-code"
              />
              <button name="do" value="confirm">Confirm</button>
            </form>`
    }
    <h3>Security keys and passkeys</h3>
    ${tableOf(
      ['key', 'since', 'last used', ''],
      keys.map(({ id, name, createdAt, lastUsedAt }) => [
        name,
        timeOf(createdAt),
        lastUsedAt === null ? 'never' : timeOf(lastUsedAt),
        html`<form method="post" action="/account/security-keys/${id}/drop">
          ${currentPassword(id)}
          <button>Remove</button>
        </form>`,
      ]),
      'None yet.',
    )}
    <form id="add-key" method="post">
      <label for="key-name">Name of the key</label>
      <input id="key-name" name="name" required maxlength="100" />
      ${currentPassword('add-key')}
      <button>Add a security key</button>
    </form>
    <p id="key-says" role="status"></p>
    <h2>Where you are signed in</h2>
    ${tableOf(
      ['browser', 'since', 'last used', ''],
      sessions.map(({ id, browser, createdAt, lastUsedAt, current }) => [
        browser === '' ? 'unknown' : browser,
        timeOf(createdAt),
        timeOf(lastUsedAt),
        current
          ? 'this one'
          : html`<form method="post" action="/account/sessions/${id}/end">
              <button>End</button>
            </form>`,
      ]),
      'Nowhere.',
    )}`;
}

const currentPassword = (of: string): Html =>
  html`<label for="current-${of}">Your password now</label>
    <input
      id="current-${of}"
      name="current"
      type="password"
      required
      autocomplete="current-password"
    />`;

function auditPage(entries: readonly AuditEntry[]): Html {
  const last = entries.at(-1);
  return html`${tableOf(
    ['When', 'Who', 'What', 'On', 'Ended'],
    entries.map(({ at, actor, action, subject, outcome }) => [
      timeOf(at),
      `${actor.name} (${actor.kind})`,
      action,
      Object.entries(subject)
        .map(([name, value]) => `${name} ${value}`)
        .join(', '),
      outcome ?? 'not known',
    ]),
    'Nothing was done yet.',
  )}
  ${last !== undefined && html`<p><a href="/audit?before=${last.id}">Older</a></p>`}`;
}
