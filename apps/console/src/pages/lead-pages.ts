import { LEAD_FIELDS, UTM_FIELDS } from '@leadgate/contract';
import type { LeadDetails, LeadSummary } from '@leadgate/store';
import { html, type Html } from './html.ts';
import { tableOf, timeOf } from './parts.ts';

/** Leads with a link to each. */
export function leadTable(leads: readonly LeadSummary[]): Html {
  return tableOf(
    ['Lead', 'Email', 'Telephone', 'Workspace', 'Changed'],
    leads.map((lead) => [
      html`<a href="/leads/${lead.leadId}">${lead.name ?? lead.leadId.slice(0, 8)}</a>`,
      lead.email ?? null,
      lead.telephone ?? null,
      lead.workspace,
      timeOf(lead.updatedAt),
    ]),
    'No lead yet.',
  );
}

export function leadsPage(leads: readonly LeadSummary[], q: string, viewer: boolean): Html {
  return html`<form class="search" method="get" action="/leads" role="search">
      <input
        name="q"
        value="${q}"
        aria-label="Find"
        placeholder="Id, email, phone${!viewer && ' or name'}"
      />
      <button>Find</button>
    </form>
    ${viewer && html`<p class="soft">Found by whole ids, emails and phones only.</p>`}
    ${q !== '' && leads.length === 0 ? html`<p>Nothing found.</p>` : leadTable(leads)}`;
}

export function leadPage(lead: LeadDetails): Html {
  return html`<p class="soft">
      ${lead.workspace} · <code>${lead.leadId}</code> · first seen ${timeOf(lead.createdAt)}
    </p>
    ${
      lead.erased &&
      html`<p class="note">
        This lead was
        erased${lead.erasure !== null && html` ${timeOf(lead.erasure.at)}: ${lead.erasure.reason}`}.
      </p>`
    }
    ${tableOf(['Field', 'Value', 'From'], fieldRows(lead), 'It has no values.')}
    <h2>Identities</h2>
    ${tableOf(
      ['Kind', 'Value', 'Since'],
      lead.identities.map(({ kind, value, since }) => [kind, value, timeOf(since)]),
      'It is known by its id only.',
    )}
    ${
      lead.possibleDuplicates.length > 0 &&
      html`<h2>Possible duplicates</h2>
        ${tableOf(
          ['Lead', 'Name', 'Email', 'Telephone', 'Since'],
          lead.possibleDuplicates.map((other) => [
            html`<a href="/leads/${other.leadId}">${other.leadId.slice(0, 8)}</a>`,
            other.name,
            other.email,
            other.telephone,
            timeOf(other.since),
          ]),
          '',
        )}`
    }
    <h2>Submissions (${lead.submissions})</h2>
    ${tableOf(
      ['Accepted', 'Link', 'Still stands', 'Notes', 'Submission'],
      lead.history.map((entry) => [
        timeOf(entry.acceptedAt),
        entry.linkLabel ?? entry.source,
        entry.stands.join(', '),
        entry.notes.map(({ field, code }) => `${field}: ${code}`).join(', '),
        html`<code>${entry.submissionId}</code>`,
      ]),
      'None.',
    )}`;
}

function fieldRows(lead: LeadDetails): [field: string, value: string, from: Html | string][] {
  const sources: Partial<Record<string, { at: string }>> = lead.provenance;
  const row = (path: string, value: string): [string, string, Html | string] => {
    const source = sources[path];
    return [path, value, source === undefined ? '' : timeOf(source.at)];
  };
  const { lastTouch } = lead;
  return [
    ...LEAD_FIELDS.flatMap((field) => {
      const value = lead[field];
      return value === undefined ? [] : [row(field, value)];
    }),
    ...Object.entries(lead.address ?? {}).map(([part, value]) => row(`address.${part}`, value)),
    ...lead.customFieldDetails.map(({ label, value }) => row(label, String(value))),
    ...UTM_FIELDS.flatMap((field) => {
      const value = lastTouch?.[field];
      return value === undefined ? [] : [row(field, value)];
    }),
  ];
}
