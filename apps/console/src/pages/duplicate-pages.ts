import { LEAD_FIELDS } from '@leadgate/contract';
import type { DuplicatePair, DuplicateSide, LeadDetails } from '@leadgate/store';
import { html, type Html } from './html.ts';
import { action, older, tableOf, timeOf } from './parts.ts';

export function duplicatesPage(pairs: readonly DuplicatePair[], more: boolean): Html {
  const last = pairs.at(-1);
  return html`<p class="soft">
      Leads that one submission named at once: its email is of the one, its phone of the other.
    </p>
    ${tableOf(
      ['First seen', 'One', 'Other', 'Look'],
      pairs.map(({ workspaceId, a, b, since }) => [
        timeOf(since),
        sideOf(a),
        sideOf(b),
        html`<a href="/duplicates/${workspaceId}/${a.leadId}/${b.leadId}">Compare</a>`,
      ]),
      'None.',
    )}
    ${more && last !== undefined && older(`/duplicates?after=${last.pair}`)}`;
}

const sideOf = ({ leadId, name, email, telephone }: DuplicateSide): Html =>
  html`<a href="/leads/${leadId}">${name ?? leadId.slice(0, 8)}</a
    >${email !== null && html` · ${email}`}${telephone !== null && html` · ${telephone}`}`;

/** Two leads beside each other, and which of them is to stay. */
export function comparePage(sides: readonly [LeadDetails, LeadDetails], acts: boolean): Html {
  const [one, other] = sides;
  const row = (what: string, of: (lead: LeadDetails) => Html | string | number | null) =>
    [what, of(one), of(other)] as [string, ReturnType<typeof of>, ReturnType<typeof of>];
  const fields = LEAD_FIELDS.filter((field) => sides.some((lead) => lead[field] !== undefined));
  return html`<p class="soft">
      Merging joins both histories: of each field the latest value stands, the other stays in the
      history, and both ids are of the one lead then. It cannot be undone.
    </p>
    ${tableOf(
      ['Field', 'One', 'Other'],
      [
        row('Lead', ({ leadId }) => html`<a href="/leads/${leadId}">${leadId.slice(0, 8)}</a>`),
        row('First seen', ({ createdAt }) => timeOf(createdAt)),
        row('Submissions', ({ submissions }) => submissions),
        ...fields.map((field) => row(field, (lead) => lead[field] ?? null)),
        row('Identities', ({ identities }) => identities.map(({ value }) => value).join(', ')),
        ...(acts
          ? [
              row('Merge', (kept) =>
                action(
                  `/duplicates/${one.workspaceId}/${kept.leadId}/merge/${
                    kept === one ? other.leadId : one.leadId
                  }`,
                  'Keep this id',
                ),
              ),
            ]
          : []),
      ],
      '',
    )}`;
}
