import { digest } from './digest.ts';
import { leadPath } from './lead-path.ts';
import type { Attribution, Touch } from './lead.ts';
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
  /** A digest of the query that the last touch is of: to load its page again is no other click. */
  query?: string;
}

/**
 * The service cuts a mark at 2,048 characters and says so. Cut here a little above that, or an
 * address bar full of marks would make the body too large to be taken at all.
 */
const LONGEST_MARK = 3000;
const LONGEST_ID = 2049;

let known: Visit | undefined;

/**
 * The visit, with the touch of the address bar added to it if there is one. Kept in memory, and
 * in sessionStorage if `remember` allows, so that it survives reloads and the walk to the form.
 * Without `attribution` it knows of no click: neither ids nor pages.
 */
export function currentVisit(remember: boolean, attribution: boolean): Visit {
  const stored = remember && (readStored('sessionStorage') as Visit | undefined);
  const visit = (known = known || stored || { id: `${Date.now()}${Math.random()}` });
  const query = `${digest(location.search)}${attribution}`;
  const touch = query !== visit.query && touchOf(location.search);
  if (touch) {
    touch.attribution = {
      ...touch.attribution,
      landingPage: location.href.replace(/#.*/, '').slice(0, LONGEST_ID),
      referrer: document.referrer.slice(0, LONGEST_ID) || undefined,
      clickedAt: new Date().toISOString(),
    };
    visit.query = query;
    visit.first = visit.first || touch;
    visit.last = touch;
  }
  if (!attribution) for (const one of [visit.first, visit.last]) if (one) delete one.attribution;
  if (remember) writeStored('sessionStorage', visit);
  return visit;
}

/** The utm marks and click ids of an address's query; undefined if there are none: no touch. */
export function touchOf(query: string): Touch | undefined {
  const touch: { [field: string]: unknown } = {};
  new URLSearchParams(query).forEach((mark, name) => {
    const [field, id] = leadPath(name) || [''];
    if (!mark) return;
    if (/^utm/.test(field)) touch[field] = mark.slice(0, LONGEST_MARK);
    if (field === 'attribution' && id)
      touch[field] = { ...(touch[field] as object), [id]: mark.slice(0, LONGEST_ID) };
  });
  return Object.keys(touch).length ? touch : undefined;
}

/** What Meta's pixel keeps of a browser and of its last click, by the names a lead has for them. */
export function metaIds(): Attribution {
  const ids: { [id: string]: string } = {};
  try {
    for (const cookie of document.cookie.split('; ')) {
      const [, id, value] = /^_(fb[cp])=(.+)/.exec(cookie) || [];
      if (id && value) ids[id] = value.slice(0, LONGEST_ID);
    }
  } catch {
    // A sandboxed frame has no cookies.
  }
  return ids;
}
