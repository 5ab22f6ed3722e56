import { html, type Html } from './html.ts';
import { selectOf, type Option } from './parts.ts';

/** What happens, as it happens. Its script fills the table. */
export function tailPage(links: readonly Option[], linkId: string | null): Html {
  return html`<noscript><p class="note">This page needs its script.</p></noscript>
    <form class="search" method="get" action="/tail">
      ${selectOf('linkId', [{ value: '', text: 'Every link' }, ...links], linkId ?? '')}
      <button>Follow</button>
    </form>
    <p id="state" class="soft" role="status">Connecting …</p>
    <div class="scroll">
      <table class="stack">
        <thead>
          <tr>
            ${['When', 'What', 'Link', 'About'].map((title) => html`<th scope="col">${title}</th>`)}
          </tr>
        </thead>
        <tbody id="events" data-link="${linkId ?? ''}"></tbody>
      </table>
    </div>
    <p class="soft">What happens from now on, newest first; the last 200.</p>`;
}
