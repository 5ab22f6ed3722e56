import { isDeepStrictEqual } from 'node:util';
import type { CustomField } from '@leadgate/contract';
import { resolveCustomFields } from '@leadgate/leads';
import type { Producer } from '@leadgate/queue';
import {
  countStoredSubmissions,
  listFields,
  storedSubmissions,
  type Store,
  type StoredFilter,
  type StoredSubmission,
} from '@leadgate/store';
import { createPace } from '../pace.ts';

export interface ReplayOptions {
  /** Tells this run from others: a submission is enqueued once a run. Letters, digits, hyphens. */
  runId: string;
  /** At most so many a second; without it as fast as the queue takes them. */
  perSecond?: number;
  /** Stops between two submissions. */
  signal?: AbortSignal;
  /** Told now and then how many were enqueued until then. */
  onProgress?: (enqueued: number) => void;
}

export interface Replayed {
  enqueued: number;
  /** The order of the last one, to go on after (`afterOrder`); null if there was none. */
  lastOrder: number | null;
  /** Whether `signal` stopped it. */
  stopped: boolean;
}

/** In Redis at once, where no rate is asked for: jobs that are full. */
const AT_ONCE = 400;

/**
 * Enqueues stored submissions of a workspace to be applied again under today's definitions, in the
 * background: live traffic goes first. Always safe: standard fields only change where a lead lacks
 * what it was told, and custom fields are those of its creator.
 */
export async function replaySubmissions(
  { store, producer }: { store: Store; producer: Pick<Producer, 'replay'> },
  workspaceId: string,
  filter: StoredFilter,
  { runId, perSecond, signal, onProgress }: ReplayOptions,
): Promise<Replayed> {
  const result: Replayed = { enqueued: 0, lastOrder: null, stopped: false };
  const pace = createPace(perSecond, signal);
  // Those that come in meanwhile are applied under today's definitions by themselves.
  const bounded = { until: new Date(), ...filter };
  const atOnce = perSecond === undefined ? AT_ONCE : Math.min(AT_ONCE, Math.ceil(perSecond / 10));
  for await (const page of storedSubmissions(store, workspaceId, bounded)) {
    for (let i = 0; i < page.length; i += atOnce) {
      const some = page.slice(i, i + atOnce);
      for (let n = 0; n < some.length; n += 1) await pace();
      if (signal?.aborted === true) return { ...result, stopped: true };
      await Promise.all(some.map(({ submission }) => producer.replay(submission, runId)));
      result.enqueued += some.length;
      result.lastOrder = some.at(-1)?.submission.order ?? null;
    }
    onProgress?.(result.enqueued);
  }
  return result;
}

/** What a replay would do to the custom fields of one lead. Names of fields, no values. */
export interface CustomFieldChange {
  leadId: string;
  submissionId: string;
  /** Fields that would be filled, by name. */
  filled: string[];
  /** Fields that would have another value. */
  changed: string[];
  /** Fields that would be emptied. */
  emptied: string[];
}

/** How many submissions a replay would apply again. */
export function countReplay(
  store: Store,
  workspaceId: string,
  filter: StoredFilter,
): Promise<number> {
  return countStoredSubmissions(store, workspaceId, filter);
}

/** The leads whose custom fields a replay would change, as they are now, and how. */
export async function* changesOfReplay(
  store: Store,
  workspaceId: string,
  filter: StoredFilter,
): AsyncGenerator<CustomFieldChange> {
  const fields = await listFields(store, workspaceId);
  // Only the submission that created a lead decides on its custom fields.
  const creators = storedSubmissions(store, workspaceId, { ...filter, outcome: 'created' });
  if (filter.outcome === 'updated') return;
  for await (const page of creators)
    for (const stored of page) {
      const change = changeOf(stored, fields);
      if (change !== null) yield change;
    }
}

function changeOf(
  { submission, leadId, customFields: before }: StoredSubmission,
  fields: readonly CustomField[],
): CustomFieldChange | null {
  const { values: after } = resolveCustomFields(submission.lead, fields);
  const change: CustomFieldChange = {
    leadId,
    submissionId: submission.id,
    filled: [],
    changed: [],
    emptied: [],
  };
  for (const { id, name, archived } of fields) {
    if (archived || isDeepStrictEqual(before[id], after[id])) continue;
    if (before[id] === undefined) change.filled.push(name);
    else if (after[id] === undefined) change.emptied.push(name);
    else change.changed.push(name);
  }
  const isNone = change.filled.length + change.changed.length + change.emptied.length === 0;
  return isNone ? null : change;
}
