import { leadPath } from './lead-path.ts';
import type { Touch } from './lead.ts';
import { readStored, writeStored } from './web-storage.ts';

/** One visit of one person, as far as the browser's tab remembers it. */
export interface Visit {
  /**
   * Makes the idempotency keys of this visit nobody else's. Guards nothing, so Math.random will do:
   * pages without TLS have no randomUUID.
   */
  id: string;
  first?: Touch;
  last?: Touch;
}

/**
 * The service cuts a mark at 2,048 characters and says so. Cut here a little above that, or an
 * address bar full of marks would make the body too large to be taken at all.
 */
const LONGEST_MARK = 3000;

let known: Visit | undefined;

/**
 * The visit, with the touch of the address bar added to it where there is one. Kept in memory, and
 * in sessionStorage where `remember` allows, so that it survives reloads and the walk to the form.
 */
export function currentVisit(remember: boolean): Visit {
  const stored = remember && (readStored('sessionStorage') as Visit | undefined);
  const visit = (known = known || stored || { id: `${Date.now()}${Math.random()}` });
  const touch = touchOf(location.search);
  if (touch) {
    visit.first = visit.first || touch;
    visit.last = touch;
  }
  if (remember) writeStored('sessionStorage', visit);
  return visit;
}

/** The utm marks of an address's query; undefined where there are none: no touch. */
export function touchOf(query: string): Touch | undefined {
  let touch: { [field: string]: string } | undefined;
  new URLSearchParams(query).forEach((mark, name) => {
    const [field] = leadPath(name) || [''];
    if (/^utm/.test(field) && mark) touch = { ...touch, [field]: mark.slice(0, LONGEST_MARK) };
  });
  return touch;
}
