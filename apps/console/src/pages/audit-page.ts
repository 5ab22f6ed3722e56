import type { AuditEntry } from '@leadgate/store';
import { html, type Html } from './html.ts';
import { tableOf, timeOf } from './parts.ts';

export function auditPage(entries: readonly AuditEntry[]): Html {
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
