import type { CustomField, Note, NoteCode, Submission } from '@leadgate/contract';
import {
  applySubmissions,
  emptyLead,
  jsonPointer,
  type LeadState,
  NO_CUSTOM_VALUE,
  resolveCustomFields,
} from '@leadgate/leads';
import { isDeepStrictEqual } from 'node:util';
import { fieldsOfWorkspaces } from '../fields.ts';
import { type LeadRow, readState } from '../leads.ts';
import { Tallies, type Tally } from '../ledger.ts';
import type { Store } from '../open-store.ts';
import { storable, RetryTransaction, type Statements, transact } from '../statements.ts';
import {
  blankSubmissions,
  insertSubmissions,
  redirectSubmissions,
  renewNotes,
} from '../submissions.ts';
import {
  type Identity,
  insertPossibleDuplicates,
  type PossibleDuplicate,
  type ChangedLead,
  eventOf,
  insertLeads,
  type LeadRef,
  lockLeads,
  type NewLead,
  updateLeads,
  readKnown,
} from './lead-rows.ts';
import { type Known, type Move, planWorkspace, type Route } from './plan-workspace.ts';

export interface GroupItem {
  submission: Submission;
  /** Apply it although it is stored: custom fields under today's definitions. */
  replay: boolean;
}

export interface AppliedSubmission {
  submissionId: string;
  /** The lead it is in now, aliases followed. */
  leadId: string;
  /**
   * `created`: it is the first of its lead. `already-applied`: an earlier run stored it, nothing
   * was done. `erased`: it was dropped, for its lead was erased later than its facts are from. `removed`: so
   * was its workspace.
   */
  outcome: 'created' | 'updated' | 'already-applied' | 'erased' | 'removed';
  /**
   * What was done to its values, by the receiver and now by the definitions of custom fields. None
   * where nothing was stored.
   */
  notes: NoteCode[];
}

/** A key that Postgres gives to another lead than the reservation did, or to none: Redis is to follow. */
export interface MovedIdentity {
  workspaceId: string;
  key: string;
  from: string;
  to: string | null;
}

export interface GroupResult {
  /** One a submission: an id that the group holds twice is answered once. */
  applied: AppliedSubmission[];
  moved: MovedIdentity[];
}

/**
 * Applies submissions to their leads in one transaction; committed when it resolves. Any grouping,
 * order and repetition of the same submissions gives the same leads. Runs beside itself and beside
 * mergeLeads, in any number of processes.
 *
 * Rejects with a StoreError when nothing was applied, or when the connection broke at the commit:
 * the same again is harmless. `failureOf` says what to do.
 */
export async function applyGroup(store: Store, items: readonly GroupItem[]): Promise<GroupResult> {
  if (items.length === 0) return { applied: [], moved: [] };
  const group = readItems(items);
  return transact(store, (tx) => applyOnce(tx, group, store.erasureKey));
}

interface Group {
  /** Each once. */
  submissions: Submission[];
  replays: ReadonlySet<string>;
  /** Some of them once more, answered with another id. */
  repetitions: Submission[];
}

function readItems(items: readonly GroupItem[]): Group {
  const submissions = new Map<string, Submission>();
  const replays = new Set<string>();
  const repetitions: Submission[] = [];
  for (const item of items) {
    const submission = storable(item.submission);
    const before = submissions.get(submission.id);
    if (before !== undefined && before.answeredLeadId !== submission.answeredLeadId)
      repetitions.push(submission);
    else submissions.set(submission.id, submission);
    if (item.replay) replays.add(submission.id);
  }
  return { submissions: [...submissions.values()], replays, repetitions };
}

/**
 * The order of statements is what keeps two workers from folding from different pasts: the row of a new lead is
 * made whole, from nothing; if another transaction makes it, that is waited for. Then the other rows are locked
 * and read, those that came to be there meanwhile among them, and only then folded. Every statement writes in
 * key order, and no row that a group has made can be asked for before those that it locks: so no two wait for
 * each other.
 */
async function applyOnce(
  tx: Statements,
  group: Group,
  erasureKey: Uint8Array | null,
): Promise<GroupResult> {
  const fieldsOf = await readFields(tx, group.submissions);
  const notes = new Map(
    group.submissions.map((one) => [one.id, allNotes(one, fieldsOf(one.workspaceId))]),
  );
  const notesOf = ({ id }: Submission) => notes.get(id) ?? [];
  const { inserted, removedWorkspaces } = await insertSubmissions(tx, group.submissions, notesOf);
  const { submissions, repetitions, replays, dropped } = withoutRemoved(group, removedWorkspaces);

  const known = await readKnown(tx, [...submissions, ...repetitions], erasureKey);
  const current = await unchangedSince(tx, submissions, replays);
  const plan = planGroup(submissions, new Set([...inserted, ...current]), known, repetitions);
  const fresh = plan.routes.filter((route) => route.fresh);
  const kept = fresh.filter(({ kind }) => kind !== 'erased');

  const fold = foldOf(kept, fieldsOf, inserted);
  const begun = plan.newLeads.map((lead) => ({ ...lead, ...fold(lead, emptyLead()) }));
  const there = new Set((await insertLeads(tx, begun)).map(keyOf));
  const made = begun.filter((lead) => !there.has(keyOf(lead)));
  const aliased = plan.routes.filter((route) => !route.fresh && hasNewAlias(route, plan));
  const rows = await lockAsPlanned(tx, plan, [...kept, ...aliased], made);
  if ((await unchangedSince(tx, submissions, current)).size < current.size)
    throw new RetryTransaction();
  const locked = rows.map((row) => fold(row, stateOf(row)));
  const leads = [...made, ...locked];
  const creators = new Set(leads.flatMap(newCreator));
  const tallies = talliesOf(plan.routes, { inserted, replays, creators, leads, notesOf });
  const { claims } = plan;
  if (!(await updateLeads(tx, locked.filter(hasChanged), { tallies, claims })))
    throw new RetryTransaction();
  await insertPossibleDuplicates(tx, plan.duplicates);

  const sharing = new Set(await phonesShared(tx, plan, kept));
  for (const { submission } of sharing)
    notes.get(submission.id)?.push({ field: '/telephone', code: 'shared-phone' });
  await renewNotes(
    tx,
    fresh.filter((route) => !inserted.has(route.submission.id) || sharing.has(route)),
    notesOf,
  );
  await redirectSubmissions(
    tx,
    fresh.filter(({ kind }) => kind === 'successor'),
  );
  await blankSubmissions(
    tx,
    fresh.filter(({ kind }) => kind === 'erased'),
  );

  const applied = plan.routes.map((route) => ({
    ...answer(route, creators),
    notes: route.fresh && route.kind !== 'erased' ? codesOf(notesOf(route.submission)) : [],
  }));
  return { applied: [...applied, ...dropped], moved: plan.moved };
}

/** What is left of a group without the workspaces that were removed. */
function withoutRemoved(
  group: Group,
  removed: ReadonlySet<string>,
): Group & { dropped: AppliedSubmission[] } {
  if (removed.size === 0) return { ...group, dropped: [] };
  const stays = ({ workspaceId }: Submission) => !removed.has(workspaceId);
  return {
    submissions: group.submissions.filter(stays),
    repetitions: group.repetitions.filter(stays),
    replays: group.replays,
    dropped: group.submissions
      .filter((submission) => !stays(submission))
      .map(({ id, leadId }) => ({ submissionId: id, leadId, outcome: 'removed', notes: [] })),
  };
}

/** What a new alias stands for is locked with it: a merge at the same time must not leave a chain. */
function hasNewAlias({ submission, kind, leadId }: Route, { newLeads }: GroupPlan): boolean {
  const { workspaceId } = submission;
  return (
    kind !== 'erased' &&
    newLeads.some((lead) => lead.workspaceId === workspaceId && lead.mergedInto === leadId)
  );
}

/** So many emails of one lead, whom a telephone joined, are more than one person has as a rule. */
const EMAILS_OF_SEVERAL = 3;

/** Those that bring the third email to a lead, or one more, by their telephone. */
async function phonesShared(
  tx: Statements,
  { claims, newLeads }: GroupPlan,
  routes: readonly Route[],
): Promise<Route[]> {
  const emails = new Set(
    claims.filter(({ key }) => key.startsWith('email:')).map(({ key }) => key),
  );
  const begun = new Set(newLeads.map(({ id }) => id));
  const bringing = routes.filter(
    ({ submission: { identities } }) =>
      identities.some(({ key }) => emails.has(key)) &&
      identities.some(({ key }) => key.startsWith('phone:')),
  );
  const count = (leadId: string) => bringing.filter((route) => route.leadId === leadId).length;
  const asked = bringing.filter(
    ({ leadId }) => !begun.has(leadId) || count(leadId) >= EMAILS_OF_SEVERAL,
  );
  if (asked.length === 0) return [];
  const rows = await tx.$queryRaw<{ leadId: string }[]>`
    SELECT lead_id AS "leadId"
    FROM identity JOIN (SELECT DISTINCT * FROM unnest(
        ${asked.map(({ submission }) => submission.workspaceId)}::uuid[],
        ${asked.map(({ leadId }) => leadId)}::uuid[]) AS one (workspace_id, lead_id)) AS asked
      USING (workspace_id, lead_id)
    WHERE key LIKE 'email:%'
    GROUP BY lead_id HAVING count(*) >= ${EMAILS_OF_SEVERAL}`;
  const shared = new Set(rows.map(({ leadId }) => leadId));
  return asked.filter(({ leadId }) => shared.has(leadId));
}

/**
 * Of submissions that are to be applied again, those that still say what they said when they were enqueued, of the
 * same lead: one that was taken apart since has been applied again with that.
 */
async function unchangedSince(
  tx: Statements,
  submissions: readonly Submission[],
  replays: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  if (replays.size === 0) return replays;
  const asked = submissions.filter(({ id }) => replays.has(id));
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT s.id FROM submission s
    JOIN unnest(${asked.map(({ id }) => id)}::uuid[], ${asked.map(({ leadId }) => leadId)}::uuid[],
                ${asked.map(({ lead }) => JSON.stringify(lead))}::jsonb[]) AS asked (id, lead_id, lead)
      -- Nothing personal is left of one that was erased: that is found out once more.
      ON asked.id = s.id AND (asked.lead_id = s.lead_id AND asked.lead = s.lead OR s.body = '')`;
  return new Set(rows.map(({ id }) => id));
}

const CUSTOM_FIELD_NOTES: ReadonlySet<NoteCode> = new Set([
  'top-level-custom-field',
  'unknown-custom-field',
  'ambiguous-custom-field',
  'overridden-custom-field',
  'invalid-custom-value',
]);

/** The receiver's notes, and those of custom fields under today's definitions, `fields`. */
export function allNotes({ lead, notes }: Submission, fields: readonly CustomField[]): Note[] {
  const { notes: resolved, values } = resolveCustomFields(lead, fields);
  if (notes.length === 0) return resolved;
  const decidedHere = new Set([
    ...Object.keys(lead.customFields ?? {}).map((key) => jsonPointer('customFields', key)),
    ...Object.keys(lead.otherKeys ?? {}).map((key) => jsonPointer(key)),
  ]);
  // Keys of which the receiver could not know that they are custom fields.
  const known = new Set(resolved.map(({ field }) => field));
  const isRecognised = Object.keys(values).length > 0;
  const isTrue = ({ field, code, detail }: Note): boolean => {
    if (code === 'unknown-key') return !known.has(field);
    if (code === 'nothing-recognised') return !isRecognised;
    // A replay brings those of its last run. What no field could take was noted if it was read.
    return !CUSTOM_FIELD_NOTES.has(code) || !decidedHere.has(field) || detail === NO_CUSTOM_VALUE;
  };
  return [...notes.filter(isTrue), ...resolved];
}

/**
 * Locks every row that the plan is about and that it has not `made` itself, and reads it. The plan was made from what
 * had been committed until then; where a merge, an erasure or another group came in between, it is made
 * again.
 */
export async function lockAsPlanned(
  tx: Statements,
  { newLeads }: Pick<GroupPlan, 'newLeads'>,
  routes: readonly { submission: Pick<Submission, 'workspaceId'>; leadId: string }[],
  made: readonly LeadRef[] = [],
): Promise<LeadRow[]> {
  const planned = new Map<string, PlannedLead>();
  for (const { submission, leadId } of routes) {
    const lead = { workspaceId: submission.workspaceId, id: leadId, mergedInto: null };
    planned.set(keyOf(lead), lead);
  }
  for (const lead of newLeads) planned.set(keyOf(lead), lead);
  for (const lead of made) planned.delete(keyOf(lead));
  const rows = await lockLeads(tx, [...planned.values()]);
  const asPlanned = rows.every((row) => {
    return planned.get(keyOf(row))?.mergedInto === row.mergedInto && row.erasedOrder === null;
  });
  if (!asPlanned || rows.length < planned.size) throw new RetryTransaction();
  return rows;
}

const keyOf = ({ workspaceId, id }: LeadRef): string => `${workspaceId} ${id}`;

const stateOf = (row: LeadRow): LeadState =>
  row.creatorId === null ? emptyLead() : readState(row);

/** A row without a creator is of a lead of which nothing was known. */
function hasChanged({ before, after, event }: FoldedLead): boolean {
  if (before === after) return false;
  return before.creator === null || event !== null || !isDeepStrictEqual(before, after);
}

/** The submission that created the lead, where it had none before. */
function newCreator({ before, after }: FoldedLead): string[] {
  return before.creator === null && after.creator !== null ? [after.creator.submissionId] : [];
}

/** What is counted of a group: each submission once, by what came of it. A replay brings nothing. */
function talliesOf(
  routes: readonly Route[],
  {
    inserted,
    replays,
    creators,
    leads,
    notesOf,
  }: {
    inserted: ReadonlySet<string>;
    replays: ReadonlySet<string>;
    creators: ReadonlySet<string>;
    leads: readonly FoldedLead[];
    notesOf: (submission: Submission) => readonly Note[];
  },
): Tally[] {
  const states = new Map(leads.map((lead) => [lead.id, lead]));
  const tallies = new Tallies();
  for (const { submission, kind, leadId } of routes) {
    const { id, workspaceId } = submission;
    if (!inserted.has(id)) {
      if (!replays.has(id)) tallies.add(submission, 'repeated');
      continue;
    }
    const stored = creators.has(id) ? 'created' : 'updated';
    const lead = states.get(leadId);
    const after = lead?.workspaceId === workspaceId ? lead.after : undefined;
    tallies.addStored(submission, kind === 'erased' ? kind : stored, after, notesOf(submission));
  }
  return tallies.rows();
}

const codesOf = (notes: readonly Note[]): NoteCode[] => notes.map(({ code }) => code);

function answer(
  { submission, fresh, kind, leadId }: Route,
  creators: ReadonlySet<string>,
): Omit<AppliedSubmission, 'notes'> {
  const submissionId = submission.id;
  if (!fresh) return { submissionId, leadId, outcome: 'already-applied' };
  if (kind === 'erased') return { submissionId, leadId, outcome: 'erased' };
  return { submissionId, leadId, outcome: creators.has(submissionId) ? 'created' : 'updated' };
}

type FieldsOf = (workspaceId: string) => readonly CustomField[];

/** The custom fields of every workspace of a group, archived ones included: one array each. */
async function readFields(tx: Statements, submissions: readonly Submission[]): Promise<FieldsOf> {
  const ids = [...new Set(submissions.map(({ workspaceId }) => workspaceId))];
  const fields = await fieldsOfWorkspaces(tx, ids);
  const byWorkspace = new Map(
    ids.map((id) => [id, fields.filter(({ workspaceId }) => workspaceId === id)]),
  );
  return (workspaceId) => byWorkspace.get(workspaceId) ?? [];
}

/** A row of a lead to make: what its id stands for, if it is an alias. */
type PlannedLead = Pick<NewLead, 'workspaceId' | 'id' | 'mergedInto'>;

/** A Plan of every workspace of a group, as rows. */
interface GroupPlan {
  routes: Route[];
  newLeads: PlannedLead[];
  claims: Identity[];
  duplicates: PossibleDuplicate[];
  moved: (Move & { workspaceId: string })[];
}

/** Plans each workspace by itself: leads of two workspaces have nothing in common. Pure. */
function planGroup(
  submissions: readonly Submission[],
  fresh: ReadonlySet<string>,
  known: ReadonlyMap<string, Known>,
  repetitions: readonly Submission[],
): GroupPlan {
  const group: GroupPlan = {
    routes: [],
    newLeads: [],
    claims: [],
    duplicates: [],
    moved: [],
  };
  for (const [workspaceId, knownHere] of known) {
    const isHere = (submission: Submission) => submission.workspaceId === workspaceId;
    const plan = planWorkspace(
      submissions.filter(isHere),
      fresh,
      knownHere,
      repetitions.filter(isHere),
    );
    group.routes.push(...plan.routes);
    for (const [id, mergedInto] of plan.newLeads)
      group.newLeads.push({ workspaceId, id, mergedInto });
    for (const [key, leadId] of plan.claims) group.claims.push({ workspaceId, key, leadId });
    for (const [a, b] of plan.duplicates) group.duplicates.push({ workspaceId, a, b });
    for (const move of plan.moved) group.moved.push({ workspaceId, ...move });
  }
  return group;
}

/** A lead with what its row holds and what it comes to. Of what no submission goes to, that is the same. */
interface FoldedLead extends ChangedLead {
  before: LeadState;
}

/**
 * Joins a lead with those of the submissions that go to it. People see a consent, too, that one of the `inserted`
 * brought. Pure.
 */
function foldOf(
  routes: readonly Route[],
  fieldsOf: FieldsOf,
  inserted: ReadonlySet<string>,
): (lead: LeadRef, before: LeadState) => FoldedLead {
  const submissionsOf = byLead(routes);
  return ({ workspaceId, id }, before) => {
    const submissions = submissionsOf.get(keyOf({ workspaceId, id })) ?? [];
    const after = applySubmissions(before, submissions, fieldsOf(workspaceId));
    const linkIds = [...new Set(submissions.map(({ linkId }) => linkId))];
    const consented = submissions.some((one) => one.consent !== undefined && inserted.has(one.id));
    const event = eventOf(before, after) ?? (consented ? 'lead.updated' : null);
    return { workspaceId, id, before, after, event, linkIds };
  };
}

function byLead(routes: readonly Route[]): Map<string, Submission[]> {
  const leads = new Map<string, Submission[]>();
  for (const { submission, leadId } of routes) {
    const lead = keyOf({ workspaceId: submission.workspaceId, id: leadId });
    const others = leads.get(lead);
    if (others === undefined) leads.set(lead, [submission]);
    else others.push(submission);
  }
  return leads;
}
