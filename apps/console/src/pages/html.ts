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
