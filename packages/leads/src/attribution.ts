import {
  ATTRIBUTION_FIELDS,
  CLICK_IDS,
  UTM_FIELDS,
  type Attribution,
  type AttributionField,
  type Lead,
  type Touch,
} from '@leadgate/contract';
import {
  cutText,
  type Findings,
  isBlank,
  isJsonObject,
  isWholeNumber,
  type JsonObject,
  jsonPointer,
  NOT_AN_OBJECT,
  opened,
  own,
  readText,
} from './reading.ts';

/** What a touch says is cut, not refused: ad platforms write it, not the sender. */
export const MARK_LIMIT = 2_048;

/** Other names of click ids: in addresses, and of Meta's cookies. */
const ALIASES: Partial<Record<AttributionField, string>> = {
  liFatId: 'li_fat_id',
  fbc: '_fbc',
  fbp: '_fbp',
};

/** The keys of a body's top level by which click ids are known, as plain forms send them. */
export const CLICK_ID_KEYS: readonly string[] = [...CLICK_IDS, ...Object.values(ALIASES)];

/** Where each field may stand: under its names in `attribution` and, of a click id, beside it. */
const PLACES = ATTRIBUTION_FIELDS.map((field) => {
  const isBeside = (CLICK_IDS as readonly string[]).includes(field);
  const alias = ALIASES[field];
  return { field, names: alias === undefined ? [field] : [field, alias], isBeside };
});
type Place = (typeof PLACES)[number];

const BESIDE = new Set<string>(CLICK_ID_KEYS);
const KNOWN = new Set<string>(PLACES.flatMap(({ names }) => names));

export const isAttributionKey = (key: string): boolean => KNOWN.has(key);

/**
 * Where a body says that its lead came from: `attribution`, and click ids at the top level. Nothing here
 * refuses a lead: a value that cannot be taken is set aside.
 */
export function readAttribution(body: JsonObject, findings: Findings): Attribution | undefined {
  const sent = opened(own(body, 'attribution'));
  const inside = isJsonObject(sent) ? sent : {};
  if (!isBlank(sent) && sent !== inside)
    findings.note('/attribution', 'set-aside', NOT_AN_OBJECT.detail);
  for (const key of Object.keys(inside))
    if (!KNOWN.has(key)) findings.unknownKey(key, 'attribution');

  if (inside !== sent && !Object.keys(body).some((key) => BESIDE.has(key))) return undefined;
  const attribution: Attribution = {};
  for (const place of PLACES) {
    const { field } = place;
    const found = find(place, inside, body);
    if (found === undefined) continue;
    const text = field === 'clickedAt' ? readTime(found.value) : readMark(found, findings);
    if (text === undefined) findings.note(found.pointer, 'set-aside', DETAILS[field]);
    else attribution[field] = text;
  }
  return Object.keys(attribution).length > 0 ? attribution : undefined;
}

const DETAILS: Partial<Record<AttributionField, string>> = {
  clickedAt: 'Send a time with its zone: 2026-11-28T14:00:00Z.',
};

interface Found {
  value: unknown;
  pointer: string;
}

function find({ names, isBeside }: Place, inside: JsonObject, body: JsonObject): Found | undefined {
  for (const name of names) {
    const value = own(inside, name);
    if (!isBlank(value)) return { value, pointer: jsonPointer('attribution', name) };
  }
  if (!isBeside) return undefined;
  for (const name of names) {
    const value = own(body, name);
    if (!isBlank(value)) return { value, pointer: jsonPointer(name) };
  }
  return undefined;
}

/** Undefined if it is no text; of a list, as of a parameter that stood twice, the first. */
function readMark({ value, pointer }: Found, findings: Findings): string | undefined {
  const [first, ...others] = Array.isArray(value) ? (value as unknown[]) : [value];
  if (others.length > 0) findings.note(pointer, 'first-of-several');
  const text = readText(isWholeNumber(first) ? String(first) : first, Infinity);
  if (typeof text !== 'string') return undefined;
  const cut = cutText(text, MARK_LIMIT).trimEnd();
  if (cut !== text) findings.note(pointer, 'cut', `at ${MARK_LIMIT} characters`);
  return cut;
}

const WITH_ZONE = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/i;

/** A time with its zone, or seconds or milliseconds since 1970, as ISO 8601 in UTC. */
function readTime(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const text = String(value).trim();
  const ms = /^\d{13}$/.test(text)
    ? Number(text)
    : /^\d{10}$/.test(text)
      ? Number(text) * 1_000
      : WITH_ZONE.test(text)
        ? Date.parse(text.replace(' ', 'T'))
        : NaN;
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/**
 * The touch that a lead tells of; null for none. A utm field or a click makes one: the name of a browser
 * (`fbp`), a page or a referrer alone stand in every post.
 */
export function touchOf(lead: Lead): Touch | null {
  const { attribution } = lead;
  const hasClick = CLICK_IDS.some((id) => id !== 'fbp' && attribution?.[id] !== undefined);
  const touch: Touch = {};
  for (const field of UTM_FIELDS) if (lead[field] !== undefined) touch[field] = lead[field];
  if (!hasClick && Object.keys(touch).length === 0) return null;
  return { ...touch, ...(attribution !== undefined && { attribution }) };
}
