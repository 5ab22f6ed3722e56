import { HELD_REASONS } from '@leadgate/contract';
import type { HeldDetails, HeldState, HeldSummary } from '@leadgate/store';
import { html, type Html } from './html.ts';
import { action, older, tableOf, tabs, timeOf } from './parts.ts';

const STATES: [HeldState, string][] = [
  ['held', 'Waiting for you'],
  ['released', 'Released'],
  ['discarded', 'Discarded'],
];

export function heldPage(
  held: readonly HeldSummary[],
  { state, acts, more }: { state: HeldState; acts: boolean; more: boolean },
): Html {
  const last = held.at(-1);
  return html`<p class="soft">
      Posts that were caught as spam. They were answered like any other, and are no leads until
      somebody releases them.
    </p>
    ${tabs(STATES.map(([name, title]) => [`/held?state=${name}`, title, name === state]))}
    ${tableOf(
      ['Posted', 'From', 'Why', 'Link', ...(acts ? ['Act'] : [])],
      held.map((one) => [
        html`<a href="/held/${one.heldId}">${timeOf(one.at)}</a>`,
        one.lead.name ?? one.lead.email ?? one.lead.telephone ?? null,
        one.reason,
        one.linkLabel ?? one.linkId.slice(0, 8),
        ...(acts ? [decisions(one)] : []),
      ]),
      'None.',
    )}
    ${more && last !== undefined && older(`/held?state=${state}&before=${last.heldId}`)}`;
}

export function heldDetailsPage(
  held: HeldDetails,
  { acts, problem }: { acts: boolean; problem: string | null },
): Html {
  const { submission } = held;
  return html`<p class="soft">
      <code>${held.heldId}</code> · ${timeOf(held.at)} · ${held.linkLabel ?? held.linkId}
    </p>
    ${problem !== null && html`<p class="note bad" role="alert">${problem}</p>`}
    <p class="note">${HELD_REASONS[held.reason]}</p>
    ${tableOf(
      ['What', 'Value'],
      [
        ['State', held.state],
        ['Answered with lead', held.answeredLeadId],
        ['Page', submission.page ?? null],
        ['Address', submission.address ?? null],
        ['User agent', submission.userAgent ?? null],
      ],
      '',
    )}
    <h2>As sent</h2>
    <pre class="card">${submission.body}</pre>
    ${acts && html`<p>${decisions(held)}</p>`}`;
}

/** What was released is a submission now, and cannot be taken back. */
const decisions = ({ heldId, state }: HeldSummary): Html =>
  html`${state !== 'released' && action(`/held/${heldId}/release`, 'Release')}
  ${state === 'held' && action(`/held/${heldId}/discard`, 'Discard')}`;
