import type { BodyType, FieldError } from '@leadgate/contract';
import { parseBody } from '@leadgate/leads';
import { keepMended, showRejected, type Store } from '@leadgate/store';
import { linkRules } from '../link-rules.ts';
import { bodyThatCounts, readRejected } from './read-rejected.ts';

/**
 * What to make of a refused body: another one, or the same with some fields set. A field is named as
 * in a posted body, one within another with a dot (`address.city`, `customFields.plan`); an empty
 * value takes it out.
 */
export type Mending =
  | { kind: 'body'; body: string; bodyType: BodyType }
  | { kind: 'set'; values: Readonly<Record<string, string>> };

export type Mended =
  /** Kept. `errors`: what would still be refused; none: it can be replayed. */
  | { kind: 'mended'; body: string; bodyType: BodyType; errors: FieldError[] }
  | { kind: 'unknown' }
  | { kind: 'already-replayed'; submissionId: string }
  /** It cannot be parsed, so no field of it can be set. */
  | { kind: 'unparsable' };

/** Mends a refused body. The body as sent stays beside it. */
export async function mendRejected(
  store: Store,
  rejectedId: string,
  mending: Mending,
  { now }: { now: number },
): Promise<Mended> {
  const rejected = await showRejected(store, rejectedId);
  const link = rejected === null ? null : await linkRules(store, rejected.linkId);
  if (rejected === null || link === null) return { kind: 'unknown' };
  if (rejected.submissionId !== null)
    return { kind: 'already-replayed', submissionId: rejected.submissionId };

  const mended = mending.kind === 'body' ? mending : setFields(bodyThatCounts(rejected), mending);
  if (mended === null) return { kind: 'unparsable' };
  const { body, bodyType } = mended;
  // Replayed in this very moment, it is no longer there to be mended.
  if (!(await keepMended(store, rejectedId, { body, bodyType })))
    return mendRejected(store, rejectedId, mending, { now });
  const reading = readRejected(mended, link, { now });
  const errors = reading.kind === 'refused' ? reading.errors : [];
  return { kind: 'mended', body, bodyType, errors };
}

function setFields(
  { body, bodyType }: { body: string; bodyType: BodyType },
  { values }: Extract<Mending, { kind: 'set' }>,
): { body: string; bodyType: BodyType } | null {
  const parsed = parseBody(Buffer.from(body), bodyType);
  const fields = parsed.kind === 'parsed' ? entriesOf(parsed.value) : null;
  if (fields === null) return null;
  for (const [path, value] of Object.entries(values)) {
    const dot = path.indexOf('.');
    if (dot === -1) setField(fields, path, value);
    else {
      const inner = entriesOf(fields.get(path.slice(0, dot))) ?? new Map<string, unknown>();
      setField(inner, path.slice(dot + 1), value);
      fields.set(path.slice(0, dot), Object.fromEntries(inner));
    }
  }
  return { body: JSON.stringify(Object.fromEntries(fields)), bodyType: 'json' };
}

function setField(fields: Map<string, unknown>, name: string, value: string): void {
  if (value === '') fields.delete(name);
  else fields.set(name, value);
}

/** A Map, whose keys are nobody's prototype. */
function entriesOf(value: unknown): Map<string, unknown> | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  return new Map(Object.entries(value));
}
