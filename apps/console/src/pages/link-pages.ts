import type { Workspace } from '@leadgate/store';
import type { FieldError } from '@leadgate/contract';
import type { LinkView } from '@leadgate/operations';
import { html, type Html } from './html.ts';
import { settings, type LinkForm } from './link-form.ts';
import { action, selectOf, tableOf, timeOf } from './parts.ts';

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
