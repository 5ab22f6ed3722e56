const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?\s*(Z|[+-]\d{2}:?\d{2})?$/i;
/** Day first, as it is written in Brazil. */
const DAY_FIRST = /^(\d{1,2})\/(\d{1,2})\/(\d{4})(?:,? (\d{1,2}):(\d{2})(?::(\d{2}))?)?$/;

/**
 * A time of a file in microseconds since 1970: ISO 8601 with or without its zone, `27/11/2026 18:00`,
 * or a number of seconds or milliseconds since 1970. `offset`: minutes ahead of UTC, of times that
 * do not say it. Null where it is none.
 */
export function readTime(value: unknown, offset: number): number | null {
  if (typeof value === 'number') return ofNumber(value);
  if (typeof value !== 'string') return null;
  const text = value.trim();
  if (/^\d{9,13}$/.test(text)) return ofNumber(Number(text));
  const iso = ISO.exec(text);
  if (iso !== null) {
    const [, year, month, day, hour, minute, second, fraction = '', zone] = iso;
    return ofParts({ year, month, day, hour, minute, second }, fraction, zoneOf(zone, offset));
  }
  const dayFirst = DAY_FIRST.exec(text);
  if (dayFirst === null) return null;
  const [, day, month, year, hour, minute, second] = dayFirst;
  return ofParts({ year, month, day, hour, minute, second }, '', offset);
}

/** Seconds have ten digits until 2286, milliseconds thirteen. */
function ofNumber(value: number): number | null {
  if (!Number.isFinite(value) || value <= 0) return null;
  const milliseconds = value < 1e11 ? value * 1_000 : value;
  return milliseconds < 1e14 ? Math.round(milliseconds * 1_000) : null;
}

type Part = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second';

function ofParts(
  parts: Record<Part, string | undefined>,
  fraction: string,
  offset: number,
): number | null {
  const [year, month, day] = [Number(parts.year), Number(parts.month), Number(parts.day)];
  const [hour, minute, second] = [parts.hour, parts.minute, parts.second].map((n) =>
    Number(n ?? 0),
  );
  const date = new Date(Date.UTC(year, month - 1, day, hour, minute, second));
  const isReal =
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    (hour ?? 0) < 24 &&
    (minute ?? 0) < 60 &&
    (second ?? 0) < 60;
  const microseconds = date.getTime() * 1_000 + Number(fraction.padEnd(6, '0').slice(0, 6));
  const time = microseconds - offset * 60_000_000;
  return isReal && time > 0 ? time : null;
}

function zoneOf(zone: string | undefined, offset: number): number {
  if (zone === undefined) return offset;
  if (zone.toUpperCase() === 'Z') return 0;
  return readOffset(zone) ?? offset;
}

/** Minutes ahead of UTC of `-03:00` or `+0530`; null where it is no offset. */
export function readOffset(text: string): number | null {
  const match = /^([+-])(\d{2}):?(\d{2})$/.exec(text.trim());
  if (match === null) return null;
  const minutes = Number(match[2]) * 60 + Number(match[3]);
  if (minutes > 18 * 60) return null;
  return match[1] === '-' ? -minutes : minutes;
}
