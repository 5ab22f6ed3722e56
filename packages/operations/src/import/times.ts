import { normalized } from '@leadgate/leads';
/** How the times of a file are read. */
export interface TimeReading {
  /** Of `05/06/2026`: which stands first. */
  order: DateOrder;
  /** Of times that do not say it: an IANA zone, or minutes ahead of UTC. */
  zone: string | number;
}

/** What decided which of two numbers is the day; null if it never mattered. */
export type DecidedBy = 'rows' | 'country' | null;

export type DateOrder = 'day-first' | 'month-first';

/** Longer than any time is written. */
const LONGEST = 80;

/** The first three letters of months, in English, Portuguese and Spanish. */
const MONTHS = [
  ...['jan ene', 'feb fev', 'mar', 'apr abr', 'may mai', 'jun', 'jul', 'aug ago', 'sep set'],
  ...['oct out', 'nov', 'dec dez dic'],
].map((names) => names.split(' '));

const DATES = {
  yearFirst: /^(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)/,
  basic: /^(\d{4})()(\d{2})(\d{2})(?=$|[t ])/,
  yearLast: /^(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?!\d)/,
  dayName:
    /^(\d{1,2})(?:st|nd|rd|th)?[ ./-](?:de )?([a-z]{3})[a-z]*\.?[ ./-](?:de )?(\d{4}|\d{2})(?!\d)/,
  nameDay: /^([a-z]{3})[a-z]*\.? (\d{1,2})(?:st|nd|rd|th)? (\d{4})(?!\d)/,
};
const WEEKDAY =
  /^(?:mon|tue|wed|thu|fri|sat|sun|seg|ter|qua|qui|sex|sab|dom|lun|mar|mie|jue|vie)[a-z-]*\.? /;
const CLOCK =
  /^(?:t|_| ?- ?| )(?:at |as |a las )?(\d{1,2})(?:([:.])(\d{2})(?:\2(\d{2})(?:[.,](\d{1,9}))?)?|h(\d{2})?(?:min)?)? ?([ap]\.? ?m\.?)?(?![\d:])/;
/** ISO 8601's basic form, as far as it is one. */
const BASIC_CLOCK = /^([t ])(\d{2})(\d{2})(\d{2})?(?=z|[+-]|$)/;
/** A name or an offset, the latter with a name of the same zone after it. */
const ZONE =
  /^ ?\(?(?:([a-z]{1,4})|(?:utc|gmt)? ?([+-]\d{1,2})(?::?(\d{2}))?(?: ?(?:\(.*\)|[a-z]{3,4}))?)\)?$/;
/** Minutes ahead of UTC of zones by name (RFC 2822, 4.3), and of Brazil, Argentina and Europe. */
const ZONES = new Map(
  Object.entries({
    ...{ z: 0, utc: 0, gmt: 0, brt: -180, brst: -120, art: -180, est: -300, edt: -240 },
    ...{ cst: -360, cdt: -300, mst: -420, mdt: -360, pst: -480, pdt: -420 },
    ...{ wet: 0, west: 60, cet: 60, cest: 120 },
  }),
);
/** As C writes a time: its year stands last. */
const YEAR_AT_END = /^([a-z]{3} \d{1,2}) (\d{1,2}:\d{2}:\d{2}(?: [a-z]{3,4})?) (\d{4})$/;

interface Parts {
  year: number;
  /** It was written with two digits. */
  isShortYear: boolean;
  /** Month and day; of `05/06/2026` in the order of the text, undecided. */
  month: number;
  day: number;
  isUndecided: boolean;
  microseconds: number;
  /** Minutes ahead of UTC; null if it does not say. */
  offset: number | null;
}

/**
 * A time of a file in microseconds since 1970: ISO 8601 and what is near it (Postgres, Google
 * Sheets), day or month first, names of months, twelve hours or twenty-four, with its zone or
 * without; a number of seconds or milliseconds since 1970, or of days as spreadsheets count them.
 * Null if it is none of them or no real date.
 */
export function readTime(value: unknown, { order, zone }: TimeReading): number | null {
  const parts = partsOf(value);
  if (parts === null || typeof parts === 'number') return parts;
  const date = dateOf(parts, order);
  if (date === null) return null;
  const local = date + parts.microseconds;
  const time =
    parts.offset === null ? local - offsetAt(local, zone) : local - parts.offset * MINUTE;
  return time > 0 ? time : null;
}

/**
 * A day of the calendar as YYYY-MM-DD, from 1900 on: what is written as a time of no zone is its date. Of
 * a birthday a year of two digits is the last that has been (`today`, in the same form). Null if it is
 * none, or a moment that is another day elsewhere.
 */
export function readDay(value: unknown, order: DateOrder, today: string | null): string | null {
  if (typeof value !== 'string' || value.length > LONGEST) return null;
  const parts = ofText(value);
  if (parts === null || parts.offset !== null) return null;
  const dayIn = (year: number): string | null => {
    const date = dateOf({ ...parts, year }, order, 1900);
    return date === null ? null : new Date(date / 1_000).toISOString().slice(0, 10);
  };
  const day = dayIn(parts.year);
  const isLater = day !== null && today !== null && day > today;
  return isLater && parts.isShortYear ? dayIn(parts.year - 100) : day;
}

/** Which order a time can only be read in; `both` if nothing tells, null if it does not matter. */
export function orderOf(value: unknown): DateOrder | 'both' | null {
  const parts = partsOf(value);
  if (parts === null || typeof parts === 'number' || !parts.isUndecided) return null;
  const [day, month] = [dateOf(parts, 'day-first', 1900), dateOf(parts, 'month-first', 1900)];
  if (day !== null && month !== null) return day === month ? null : 'both';
  return day !== null ? 'day-first' : month !== null ? 'month-first' : null;
}

/** What the times of a column are read by, and what decided it. */
export function decideOrder(
  seen: Readonly<Record<DateOrder | 'both', number>>,
  country: string,
): { order: DateOrder; decidedBy: DecidedBy } {
  const { both, 'day-first': day, 'month-first': month } = seen;
  if (day !== month) return { order: day > month ? 'day-first' : 'month-first', decidedBy: 'rows' };
  const order = MONTH_FIRST.has(country) ? 'month-first' : 'day-first';
  return { order, decidedBy: both + day > 0 ? 'country' : null };
}

/** Countries in which the month is written first (Unicode CLDR, short dates). */
const MONTH_FIRST = new Set(['US', 'PH', 'PW', 'FM', 'MH', 'GU', 'AS', 'MP', 'VI', 'PR', 'UM']);

const MINUTE = 60_000_000;

function partsOf(value: unknown): Parts | number | null {
  if (typeof value === 'number') return ofNumber(value);
  if (typeof value !== 'string' || value.length > LONGEST) return null;
  const text = value.trim();
  if (/^(?:19|20)\d{12}$/.test(text)) return ofText(`${text.slice(0, 8)} ${text.slice(8)}`);
  const number = /^\d+(?:[.,]\d+)?$/.test(text) ? ofNumber(Number(text.replace(',', '.'))) : null;
  return number ?? ofText(text);
}

/** Seconds have ten digits until 2286, milliseconds thirteen, days of spreadsheets five. */
function ofNumber(value: number): Parts | number | null {
  if (!Number.isFinite(value)) return null;
  if (value >= 25_570 && value < 73_051) {
    const local = new Date(Math.round((value - 25_569) * 86_400) * 1_000);
    return ofText(local.toISOString().slice(0, 19));
  }
  if (value < 1e8 || value >= 1e13) return null;
  return Math.round((value < 1e11 ? value * 1_000 : value) * 1_000);
}

function ofText(written: string): Parts | null {
  const text = normalized(written.toLowerCase(), 'NFD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .replace(/,(?!\d)|[\s\u202f]/g, ' ')
    .replace(/ +/g, ' ')
    .trim()
    .replace(WEEKDAY, '')
    .replace(YEAR_AT_END, '$1 $3 $2');
  const date = datePartsOf(text);
  if (date === null) return null;
  const clock = clockPartsOf(text.slice(date.length));
  return clock === null ? null : { ...date.parts, ...clock };
}

/** What stands after the date: a time of the day, and perhaps its zone. */
function clockPartsOf(text: string): Pick<Parts, 'microseconds' | 'offset'> | null {
  if (text === '') return { microseconds: 0, offset: null };
  const clock = CLOCK.exec(text.replace(BASIC_CLOCK, basicClock));
  if (clock === null) return null;
  const microseconds = timeOf(clock);
  const rest = clock.input.slice(clock[0].length);
  if (microseconds === null) return null;
  if (rest.trim() === '') return { microseconds, offset: null };
  const zone = ZONE.exec(rest);
  const offset = zone === null ? null : zoneOf(zone);
  return offset === null ? null : { microseconds, offset };
}

function timeOf(clock: RegExpExecArray): number | null {
  const [all, hours, , minutes, seconds, fraction = '', hMinutes, half] = clock;
  let hour = Number(hours);
  const [minute, second] = [Number(minutes ?? hMinutes ?? 0), Number(seconds ?? 0)];
  // A bare number is no time.
  if (minutes === undefined && half === undefined && !all.includes('h')) return null;
  if (half !== undefined) {
    const isAfternoon = half.startsWith('p');
    // Some write the half of the day after an hour of twenty-four.
    if (hour < 1 || (hour > 12 && !isAfternoon)) return null;
    hour = (hour % 12) + (isAfternoon ? 12 : 0);
  }
  if (hour > 23 || minute > 59 || second > 59) return null;
  const whole = ((hour * 60 + minute) * 60 + second) * 1_000_000;
  return whole + Number(fraction.padEnd(6, '0').slice(0, 6));
}

const basicClock = (_: string, mark: string, hour: string, minute: string, second?: string) =>
  `${mark}${hour}:${minute}${second === undefined ? '' : `:${second}`}`;

/** Minutes ahead of UTC. */
function zoneOf([, name, hours, minutes = '0']: RegExpExecArray): number | null {
  if (hours === undefined) return ZONES.get(name ?? '') ?? null;
  const offset = Math.abs(Number(hours)) * 60 + Number(minutes);
  if (offset > 18 * 60 || Number(minutes) > 59) return null;
  return hours.startsWith('-') ? -offset : offset;
}

type DateParts = Pick<Parts, 'year' | 'isShortYear' | 'month' | 'day' | 'isUndecided'>;

function datePartsOf(text: string): { parts: DateParts; length: number } | null {
  const yearFirst = DATES.yearFirst.exec(text) ?? DATES.basic.exec(text);
  if (yearFirst !== null) {
    const [all, year, , month, day] = yearFirst;
    const parts = { ...yearOf(year), month: Number(month), day: Number(day) };
    return { parts: { ...parts, isUndecided: false }, length: all.length };
  }
  const yearLast = DATES.yearLast.exec(text);
  if (yearLast !== null) {
    const [all, first, separator, second, year = ''] = yearLast;
    const parts = { ...yearOf(year), month: Number(second), day: Number(first) };
    // Between dots the day always stands first.
    return { parts: { ...parts, isUndecided: separator !== '.' }, length: all.length };
  }
  const dayName = DATES.dayName.exec(text);
  const nameDay = DATES.nameDay.exec(text);
  const [all, day, name, year] = dayName ?? (nameDay === null ? [] : swapped(nameDay));
  const month = 1 + MONTHS.findIndex((names) => names.includes(name ?? ''));
  if (all === undefined || month === 0) return null;
  const parts = { ...yearOf(year), month, day: Number(day), isUndecided: false };
  return { parts, length: all.length };
}

const swapped = ([all, name, day, year]: RegExpExecArray) => [all, day, name, year];

function yearOf(text = ''): Pick<Parts, 'year' | 'isShortYear'> {
  const year = Number(text);
  const isShortYear = text.length <= 2;
  return { year: isShortYear ? year + (year < 70 ? 2000 : 1900) : year, isShortYear };
}

/** Microseconds of the beginning of a day in UTC; null if it is no day of the calendar. */
function dateOf(
  { year, month, day, isUndecided }: Parts,
  order: DateOrder,
  from = 1970,
): number | null {
  const swap = isUndecided && order === 'month-first';
  const [months, days] = swap ? [day, month] : [month, day];
  const date = new Date(Date.UTC(year, months - 1, days));
  const isReal = date.getUTCMonth() === months - 1 && date.getUTCDate() === days;
  return isReal && year >= from && year < 3000 ? date.getTime() * 1_000 : null;
}

/** How far ahead of UTC a zone is at a local time, in microseconds. */
function offsetAt(local: number, zone: string | number): number {
  if (typeof zone === 'number') return zone * MINUTE;
  // Twice, as the first guess may lie on the other side of a change of the clocks.
  const guess = offsetOf(zone, local / 1_000);
  return offsetOf(zone, (local - guess) / 1_000);
}

const formats = new Map<string, Intl.DateTimeFormat>();

function offsetOf(zone: string, milliseconds: number): number {
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
    });
  formats.set(zone, format);
  const part = Object.fromEntries(
    format.formatToParts(milliseconds).map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = part;
  const local = Date.UTC(year, month - 1, day, hour, minute, second);
  return (local - Math.floor(milliseconds / 1_000) * 1_000) * 1_000;
}

/** Minutes ahead of UTC of `-03:00` or `+0530`; null if it is no offset. */
export function readOffset(text: string): number | null {
  const match = /^([+-])(\d{2}):?(\d{2})$/.exec(text.trim());
  if (match === null) return null;
  const minutes = Number(match[2]) * 60 + Number(match[3]);
  if (minutes > 18 * 60) return null;
  return match[1] === '-' ? -minutes : minutes;
}

/** Whether a text names a time zone of the IANA list. */
export function isTimeZone(text: string): boolean {
  if (!/^[A-Z]/i.test(text)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
