import type { LinkGuardChanges, LinkSettings } from '@leadgate/contract';
import type { LinkView } from '@leadgate/operations';
import { type Static, Type } from 'typebox';
import { html, type Html, selectOf } from './html.ts';

const Text = Type.Optional(Type.String({ maxLength: 4_000 }));

/** The form of a link's settings, as browsers send it: what is not ticked is not there. */
export const LinkFormBody = Type.Object({
  workspaceId: Type.Optional(Type.String({ format: 'uuid' })),
  label: Text,
  mode: Type.Optional(Type.Union([Type.Literal('strict'), Type.Literal('lenient')])),
  requireIdentity: Text,
  origins: Text,
  allowServers: Text,
  redirectUrl: Text,
  linkLimit: Text,
  addressLimit: Text,
  honeypot: Text,
  minFillSeconds: Text,
  captchaUrl: Text,
  captchaSecret: Text,
  captchaFail: Type.Optional(Type.Union([Type.Literal('open'), Type.Literal('closed')])),
  expires: Type.Optional(Type.String({ pattern: '^(\\d{4}-\\d{2}-\\d{2})?$' })),
});

/** What stands in the form. Never a secret. */
export interface LinkForm {
  workspaceId: string;
  label: string;
  mode: 'strict' | 'lenient';
  requireIdentity: boolean;
  origins: string;
  allowServers: boolean;
  redirectUrl: string;
  linkLimit: string;
  addressLimit: string;
  honeypot: string;
  minFillSeconds: string;
  captchaUrl: string;
  captchaFail: 'open' | 'closed';
  expires: string;
}

export const EMPTY_FORM: LinkForm = {
  ...{ workspaceId: '', label: '', mode: 'strict', requireIdentity: false, origins: '' },
  ...{ allowServers: true, redirectUrl: '', linkLimit: '', addressLimit: '', honeypot: '' },
  ...{ minFillSeconds: '', captchaUrl: '', captchaFail: 'open', expires: '' },
};

/** The form of a link as it is. */
export function formOf(link: LinkView): LinkForm {
  const { guard } = link;
  return {
    workspaceId: link.workspaceId,
    label: link.label,
    mode: link.mode,
    requireIdentity: link.requireIdentity,
    origins: link.origins.join('\n'),
    allowServers: link.allowServers,
    redirectUrl: link.redirectUrl ?? '',
    linkLimit: textOf(link.linkLimit),
    addressLimit: textOf(link.addressLimit),
    honeypot: guard.honeypot ?? '',
    minFillSeconds: textOf(guard.minFillSeconds),
    captchaUrl: guard.captcha?.verifyUrl ?? '',
    captchaFail: guard.captcha?.fail ?? 'open',
    expires: lastDayOf(link.expiresAt),
  };
}

/** The form with what was sent of it, to be shown again. */
export function sentForm(body: Static<typeof LinkFormBody>): LinkForm {
  const { captchaSecret: _, requireIdentity, allowServers, ...texts } = body;
  return {
    ...EMPTY_FORM,
    ...texts,
    requireIdentity: requireIdentity !== undefined,
    allowServers: allowServers !== undefined,
  };
}

/** What was sent, as settings of a link. Numbers that are none are found by whoever checks them. */
export function readLinkForm(body: Static<typeof LinkFormBody>): {
  settings: LinkSettings;
  guard: LinkGuardChanges;
  expiresAt: Date | null;
} {
  const form = sentForm(body);
  const secret = body.captchaSecret?.trim() ?? '';
  const verifyUrl = form.captchaUrl.trim();
  return {
    settings: {
      label: form.label,
      mode: form.mode,
      requireIdentity: form.requireIdentity,
      origins: form.origins.split(/\s+/).filter((origin) => origin !== ''),
      allowServers: form.allowServers,
      redirectUrl: form.redirectUrl.trim() || null,
      linkLimit: numberOf(form.linkLimit),
      addressLimit: numberOf(form.addressLimit),
    },
    guard: {
      honeypot: form.honeypot.trim() || null,
      minFillSeconds: numberOf(form.minFillSeconds),
      captcha:
        verifyUrl === '' && secret === ''
          ? null
          : { verifyUrl, fail: form.captchaFail, ...(secret !== '' && { secret }) },
    },
    expiresAt: form.expires === '' ? null : endOf(form.expires),
  };
}

const DAY_MS = 86_400_000;

/** The last day counts: the link ends when it is over. */
const endOf = (day: string): Date => new Date(Date.parse(`${day}T00:00:00Z`) + DAY_MS);

function lastDayOf(end: Date | null): string {
  return end === null ? '' : new Date(end.getTime() - 1).toISOString().slice(0, 10);
}

const textOf = (value: number | null): string => (value === null ? '' : String(value));

function numberOf(text: string): number | null {
  const trimmed = text.trim().replace(',', '.');
  return trimmed === '' ? null : Number(trimmed);
}

/** The fields of the form. */
export function settings(form: LinkForm, { hasSecret }: { hasSecret: boolean }): Html {
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
