import type { Workspace } from '@leadgate/store';
import type { FieldError } from '@leadgate/contract';
import type { viewLink } from '../link-view.ts';
import type { LinkForm } from '../read-link-form.ts';
import { html, type Html } from './html.ts';
import { action, selectOf, tableOf, timeOf } from './parts.ts';

type LinkView = ReturnType<typeof viewLink>;

export function linksPage(links: readonly LinkView[], acts: boolean): Html {
  return html`${acts && html`<p><a class="button" href="/links/new">New link</a></p>`}
  ${tableOf(
    ['Link', 'Workspace', 'State', 'Mode', 'Posts to', ...(acts ? ['Act'] : [])],
    links.map((link) => [
      html`<a href="/links/${link.id}">${link.label === '' ? link.id.slice(0, 8) : link.label}</a>`,
      link.workspaceName,
      stateOf(link),
      link.mode,
      html`<code>${link.captureUrl ?? link.code}</code>`,
      ...(acts ? [change(link)] : []),
    ]),
    'No capture link yet.',
  )}`;
}

const stateOf = ({ status }: LinkView): Html =>
  html`<span class="${status === 'open' ? 'good' : 'warn'}">${status}</span>`;

const change = ({ id, state }: LinkView): Html =>
  state === 'open'
    ? action(`/links/${id}/disable`, 'Disable')
    : action(`/links/${id}/enable`, 'Enable');

/** A form, and what was wrong with what was sent of it. */
interface Filled {
  form: LinkForm;
  errors: readonly FieldError[];
}

export function newLinkPage(workspaces: readonly Workspace[], filled: Filled): Html {
  if (workspaces.length === 0)
    return html`<p>There is no workspace yet: leadgate workspace create NAME.</p>`;
  return html`${faults(filled.errors)}
    <form method="post" action="/links/new">
      <label for="workspaceId">Workspace</label>
      ${selectOf(
        'workspaceId',
        workspaces.map(({ id, name }) => ({ value: id, text: name })),
        filled.form.workspaceId,
      )}
      ${settings(filled.form, { hasSecret: false })}
      <p><button>Create</button></p>
    </form>`;
}

export function linkPage(link: LinkView, filled: Filled, acts: boolean): Html {
  return html`<p class="soft">
      ${link.workspaceName} · ${stateOf(link)} · since ${timeOf(link.createdAt)}
    </p>
    <p>Posts to <code>${link.captureUrl ?? link.code}</code></p>
    ${
      acts &&
      html`<p>
        ${change(link)} ${action(`/links/${link.id}/rotate`, 'New code, the old one for a week')}
      </p>`
    }
    ${tableOf(
      ['Code', 'Since', 'Until'],
      link.codes.map(({ code, createdAt, expiresAt }) => [
        html`<code>${code}</code>`,
        timeOf(createdAt),
        expiresAt === null ? 'no end' : timeOf(expiresAt),
      ]),
      '',
    )}
    <h2>Settings</h2>
    ${faults(filled.errors)}
    <form method="post" action="/links/${link.id}/set">
      <fieldset class="bare" ${!acts && html`disabled`}>
        ${settings(filled.form, { hasSecret: link.guard.captcha !== null })}
        ${acts && html`<p><button>Save</button></p>`}
      </fieldset>
    </form>`;
}

const faults = (errors: readonly FieldError[]): Html | false =>
  errors.length > 0 &&
  html`<div class="note bad" role="alert">
    ${errors.map(({ detail }) => html`<div>${detail}</div>`)}
  </div>`;

function settings(form: LinkForm, { hasSecret }: { hasSecret: boolean }): Html {
  return html`<label for="label">Label, for operators</label>
    <input id="label" name="label" value="${form.label}" />
    <label for="mode">A lead with a field that is wrong</label>
    ${selectOf(
      'mode',
      [
        { value: 'strict', text: 'is refused (strict)' },
        { value: 'lenient', text: 'is taken without the field (lenient)' },
      ],
      form.mode,
    )}
    ${check('requireIdentity', form.requireIdentity, 'Refuse leads without email and telephone')}
    <fieldset>
      <legend>Where posts come from</legend>
      <label for="origins">Origins that may post, one a line; none: any</label>
      <textarea
        id="origins"
        name="origins"
        rows="3"
        spellcheck="false"
        placeholder="https://lp.example.com"
      >
${form.origins}</textarea>
      ${check('allowServers', form.allowServers, 'With origins: take posts without an Origin too')}
      <label for="redirectUrl">Where a plain HTML form goes afterwards</label>
      ${input('redirectUrl', form.redirectUrl)}
      <label for="linkLimit">Posts a minute on this link; none: the receiver’s default</label>
      ${input('linkLimit', form.linkLimit, 'numeric')}
      <label for="addressLimit">Posts a minute from one network address</label>
      ${input('addressLimit', form.addressLimit, 'numeric')}
    </fieldset>
    <fieldset>
      <legend>Spam: what is caught is held, and nothing is lost</legend>
      <label for="honeypot">Field that no person sees, and that holds posts which fill it in</label>
      ${input('honeypot', form.honeypot)}
      <label for="minFillSeconds">Seconds that a page has been open at least</label>
      ${input('minFillSeconds', form.minFillSeconds, 'decimal')}
      <label for="captchaUrl">CAPTCHA: where it is checked</label>
      ${input('captchaUrl', form.captchaUrl)}
      <label for="captchaSecret"
        >CAPTCHA: its secret${hasSecret && ' (left empty, the one that is there stays)'}</label
      >
      <input id="captchaSecret" name="captchaSecret" type="password" autocomplete="new-password" />
      <label for="captchaFail">CAPTCHA: a post that could not be checked</label>
      ${selectOf(
        'captchaFail',
        [
          { value: 'open', text: 'is taken' },
          { value: 'closed', text: 'is held' },
        ],
        form.captchaFail,
      )}
    </fieldset>
    <label for="expires">Last day (UTC); none: no end</label>
    <input id="expires" name="expires" type="date" value="${form.expires}" />`;
}

const check = (name: string, on: boolean, text: string): Html =>
  html`<label class="check"
    ><input type="checkbox" name="${name}" value="true" ${on && html`checked`} /> ${text}</label
  >`;

const input = (name: string, value: string, mode = 'text'): Html =>
  html`<input
    id="${name}"
    name="${name}"
    value="${value}"
    inputmode="${mode}"
    spellcheck="false"
  />`;
