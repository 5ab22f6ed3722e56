import { hasOperators } from '@leadgate/store';
import type { FastifyReply } from 'fastify';
import type { ConsoleServices } from '../services.ts';
import { html } from './html.ts';
import { sendDoor } from './layout.ts';

/** The page with the form that signs in, or makes the first operator where there is none. */
export async function sendSignInPage(
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
