import { isDeepStrictEqual } from 'node:util';
import { NOTE_CODES, type CustomField, type NoteCode } from '@leadgate/contract';
import { resolveCustomFields } from '@leadgate/leads';
import {
  countStoredSubmissions,
  listFields,
  storedSubmissions,
  type Store,
  type StoredFilter,
  type StoredSubmission,
} from '@leadgate/store';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { createPace } from '../pace.ts';
import type { Work } from '../runs.ts';
import { momentsOf, Time, Uuid } from '../schema.ts';

/** In Redis at once, if no rate is asked for: jobs that are full. */
const AT_ONCE = 400;

/** What of a workspace is replayed, and how fast. */
export const ReplayParameters = Type.Object({
  linkId: Type.Optional(Uuid),
  leadId: Type.Optional(Uuid),
  since: Type.Optional(Time),
  until: Type.Optional(Time),
  outcome: Type.Optional(Type.Enum(['created', 'updated'])),
  note: Type.Optional(Type.Unsafe<NoteCode>(Type.Enum(Object.keys(NOTE_CODES)))),
  perSecond: Type.Optional(Type.Integer({ minimum: 1 })),
});

/** What is replayed, as the store knows it. */
export const filterOf = ({
  perSecond: _,
  ...rest
}: Static<typeof ReplayParameters>): StoredFilter => momentsOf(rest);

/**
 * Enqueues stored submissions of a workspace to be applied again under today's definitions, in the
 * background: live traffic goes first. Always safe: standard fields only change if a lead lacks
 * what it was told, and custom fields are those of its creator. A run enqueues a submission once,
 * and one that is resumed goes on after the last.
 */
export const replayWork: Work = async ({ run, signal, tell }, { store, intake }) => {
  const { perSecond, ...parameters } = Value.Parse(ReplayParameters, run.parameters);
  const { producer } = await intake();
  const pace = createPace(perSecond, signal);
  const atOnce = perSecond === undefined ? AT_ONCE : Math.min(AT_ONCE, Math.ceil(perSecond / 10));
  const filter: StoredFilter = {
    // Those that come in meanwhile are applied under today's definitions by themselves.
    until: run.begunAt,
    ...filterOf(parameters),
    ...(run.cursor !== null && { afterOrder: Number(run.cursor) }),
  };
  let { enqueued = 0 } = run.progress;
  for await (const page of storedSubmissions(store, run.workspaceId, filter))
    for (let i = 0; i < page.length; i += atOnce) {
      const some = page.slice(i, i + atOnce);
      for (let n = 0; n < some.length; n += 1) await pace();
      if (signal.aborted) return;
      await Promise.all(
        some.map(({ submission }) => producer.replay(submission, `replay-${run.id}`)),
      );
      enqueued += some.length;
      tell({ enqueued }, String(some.at(-1)?.submission.order));
    }
};

/** Changes that are told of; all of them are counted. */
export const MOST_CHANGES = 100;

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

/** What a replay would do, without doing it. */
export async function previewReplay(
  store: Store,
  workspaceId: string,
  filter: StoredFilter,
  signal: AbortSignal,
): Promise<{ submissions: number; leads: number; changes: CustomFieldChange[] }> {
  const changes: CustomFieldChange[] = [];
  let leads = 0;
  for await (const change of changesOfReplay(store, workspaceId, filter)) {
    if (signal.aborted) break;
    leads += 1;
    if (changes.length < MOST_CHANGES) changes.push(change);
  }
  return { submissions: await countStoredSubmissions(store, workspaceId, filter), leads, changes };
}

/** The leads whose custom fields a replay would change, as they are now, and how. */
async function* changesOfReplay(
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
