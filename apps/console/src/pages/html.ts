/** Text that is HTML already. Made by `html` only. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | null | undefined | false | readonly Part[];

/** HTML in which every value is escaped, unless it was made here itself. Lists are joined. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(String.raw({ raw: strings }, ...parts.map(render)));
}

function render(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === null || part === undefined || part === false) return '';
  if (typeof part === 'string' || typeof part === 'number') return escape(String(part));
  return part.map(render).join('');
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** What reorders the text around it, so that a page would show another one than is there. */
const REORDERING = /[\u202a-\u202e\u2066-\u2069]/g;

const escape = (text: string): string =>
  text
    .replace(REORDERING, (character) => `\\u${character.charCodeAt(0).toString(16)}`)
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);

/** A time to the second, UTC, as everything in the logs. */
export function timeOf(at: string | Date): Html {
  const iso = typeof at === 'string' ? at : at.toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')}</time>`;
}

/** A duration in its largest two units: `3 min 20 s`. */
export function durationOf(ms: number): string {
  const s = Math.floor(ms / 1_000);
  if (s < 60) return `${s} s`;
  if (s < 3_600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86_400) return `${Math.floor(s / 3_600)} h ${Math.floor((s % 3_600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3_600)} h`;
}

/** A count with thousands set apart. */
export const countOf = (count: number): string => count.toLocaleString('en-US');

type Cell = Html | string | number | null;

/** A table that becomes a list of cards on a narrow screen. */
export function tableOf(head: string[], rows: Cell[][], empty: string): Html {
  if (rows.length === 0) return html`<p class="soft">${empty}</p>`;
  return html`<div class="scroll">
    <table class="stack">
      <thead>
        <tr>
          ${head.map((title) => html`<th scope="col">${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (cells) =>
            html`<tr>
              ${cells.map(
                (cell, at) =>
                  html`<td data-label="${head[at]}">
                    <div>${cell === '' || cell === null ? '–' : cell}</div>
                  </td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Views of one page, of which one is looked at. */
export const tabs = (views: readonly [path: string, title: string, current: boolean][]): Html =>
  html`<p class="tabs">
    ${views.map(
      ([path, title, current]) =>
        html`<a href="${path}" ${current && html`aria-current="true"`}>${title}</a>`,
    )}
  </p>`;

/** Leads to the next page of a list. */
export const older = (path: string): Html => html`<p><a href="${path}">Older</a></p>`;

export interface Option {
  value: string;
  text: string;
}

/** A field that offers a choice. */
export const selectOf = (name: string, options: readonly Option[], chosen = ''): Html =>
  html`<select id="${name}" name="${name}">
    ${options.map(
      ({ value, text }) =>
        html`<option value="${value}" ${value === chosen && html`selected`}>${text}</option>`,
    )}
  </select>`;

/** A number with what it counts. */
export const card = (what: string, value: string | number, state = ''): Html =>
  html`<div class="card"><span>${what}</span><strong class="${state}">${value}</strong></div>`;

/** A button that acts: a form of its own, as a link must only look. */
export const action = (path: string, label: string): Html =>
  html`<form class="inline" method="post" action="${path}">
    <button class="quiet">${label}</button>
  </form>`;
