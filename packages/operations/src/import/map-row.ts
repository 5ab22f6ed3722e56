import type { FieldError } from '@leadgate/contract';
import { readTime } from './read-time.ts';
import type { Target } from './map-columns.ts';

/** A row as a body that could have been posted. */
export type MappedRow =
  | {
      kind: 'mapped';
      body: Record<string, unknown>;
      /** Microseconds since 1970; null where the row does not say. */
      stamp: number | null;
    }
  | { kind: 'refused'; errors: FieldError[] };

export interface MapRowOptions {
  target: (column: string) => Target;
  /** Minutes ahead of UTC of times that do not say it. */
  timeOffset: number;
}

/** Keys under which a row of JSON may hold a whole object, as a posted body does. */
const OBJECTS = new Set(['address', 'customFields', 'consent']);

/** Puts the values of a row where they go. Blank values are left out: they say nothing. */
export function mapRow(
  values: Readonly<Record<string, unknown>>,
  { target, timeOffset }: MapRowOptions,
): MappedRow {
  const body = new Map<string, unknown>();
  let stamp: number | null = null;
  for (const [column, value] of Object.entries(values)) {
    if (isBlank(value)) continue;
    if (OBJECTS.has(column) && typeof value === 'object') {
      body.set(column, merged(body.get(column), value));
      continue;
    }
    const to = target(column);
    if (to.kind === 'field') setPath(body, to.path, value);
    if (to.kind !== 'time') continue;
    const time = readTime(value, timeOffset);
    if (time === null) return { kind: 'refused', errors: [wrongTime(column)] };
    stamp = time;
  }
  return { kind: 'mapped', body: Object.fromEntries(body), stamp };
}

function isBlank(value: unknown): boolean {
  return (
    value === null || value === undefined || (typeof value === 'string' && value.trim() === '')
  );
}

/** The first of several columns for one field that says something stands. */
function setPath(body: Map<string, unknown>, path: string, value: unknown): void {
  const dot = path.indexOf('.');
  if (dot === -1) {
    if (!body.has(path)) body.set(path, value);
    return;
  }
  const outer = path.slice(0, dot);
  body.set(outer, merged({ [path.slice(dot + 1)]: value }, body.get(outer)));
}

function merged(under: unknown, over: unknown): object {
  return { ...(under as object | undefined), ...(over as object | undefined) };
}

function wrongTime(column: string): FieldError {
  return {
    pointer: `/${column}`,
    code: 'invalid-time',
    detail: 'It is not a time: 2026-11-27T18:00:00-03:00, 2026-11-27 18:00, 27/11/2026 18:00.',
  };
}
