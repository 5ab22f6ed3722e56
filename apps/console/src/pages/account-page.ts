import type { SessionSummary } from '@leadgate/store';
import { html, type Html } from './html.ts';
import { tableOf, timeOf } from './parts.ts';

export interface Account {
  hasSecondFactor: boolean;
  sessions: (SessionSummary & { current: boolean })[];
  problem: string | null;
  done: string | null;
  /** Of an authenticator to be confirmed; shown this once. */
  pending: { uri: string; secret: string } | null;
}

/** What somebody may change of themselves: password, second factor, sessions. */
export function accountPage({ hasSecondFactor, sessions, problem, done, pending }: Account): Html {
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
              ${hasSecondFactor ? 'A code of your authenticator is asked for at sign-in.' : 'None yet.'}
            </p>
            <form method="post" action="/account/second-factor">
              ${currentPassword('second-factor')}
              <button name="do" value="begin">Set up an authenticator</button>
              ${hasSecondFactor && html`<button name="do" value="drop">Ask for no code any more</button>`}
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
