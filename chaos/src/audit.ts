import { isDeepStrictEqual } from 'node:util';
import type { Submission } from '@leadgate/contract';
import { applySubmissions, emptyLead } from '@leadgate/leads';
import { withPostgres } from '../../scripts/servers/session.js';
import type { Accepted } from './ledger.ts';
import { markIn, markOf } from './people.ts';
import { readStored, type Stored } from './stored.ts';
import type { Traffic } from './traffic.ts';

/** What was promised, held against what stands in Postgres. */
export interface Audit {
  /** Posts that were accepted; one with a key counts once, however often it was sent. */
  accepted: number;
  /** Of those, the ones whose submission stands. */
  applied: number;
  lost: number;
  /** Submissions too many: of a key more than one, of a post without a key more than were sent. */
  doubled: number;
  /** Everything that is not as it should be, each in a sentence. */
  violations: string[];
  /** Answers whose submission waited in a Redis that an older one was put in the place of. */
  thrownAway: number;
  submissions: number;
  leads: number;
  aliases: number;
}

export interface ThrownAway {
  /** How often an older Redis was put in the place of Redis. */
  restores: number;
  /** What waited in it then, and may be lost with it. */
  submissions: ReadonlySet<string>;
  /** Of the posts that they are of: one with a key may have been answered with another id. */
  marks: ReadonlySet<string>;
}

/**
 * Compares the ledger, and all that was sent, with Postgres. The leads have to be what the stored
 * submissions come to, one after the other in the order of their reservations.
 */
export async function audit(
  databaseUrl: string,
  ledger: readonly Accepted[],
  sent: Traffic['sent'],
  thrownAway: ThrownAway = { restores: 0, submissions: new Set(), marks: new Set() },
): Promise<Audit> {
  const result: Audit = {
    ...{ accepted: 0, applied: 0, lost: 0, doubled: 0, violations: [], thrownAway: 0 },
    ...{ submissions: 0, leads: 0, aliases: 0 },
  };
  const byWorkspace = groupBy(ledger, ({ workspaceId }) => workspaceId);
  await withPostgres(databaseUrl, async (client) => {
    const { rows } = await client.query<{ id: string }>('SELECT id FROM workspace');
    for (const { id } of rows)
      compare(result, await readStored(client, id), byWorkspace.get(id) ?? [], sent, thrownAway);
  });
  return result;
}

function compare(
  result: Audit,
  stored: Stored,
  ledger: readonly Accepted[],
  sent: Traffic['sent'],
  thrownAway: ThrownAway,
): void {
  const resolve = (id: string): string => stored.leads.get(id)?.mergedInto ?? id;
  const aliases = [...stored.leads.values()].filter(({ mergedInto }) => mergedInto !== null);
  result.submissions += stored.submissions.length;
  result.aliases += aliases.length;
  result.leads += stored.leads.size - aliases.length;

  const byMark = groupBy(stored.submissions, markIn);
  const ids = new Set(stored.submissions.map(({ id }) => id));
  const wasThrown = ({ post, key, submissionId }: Accepted): boolean =>
    thrownAway.submissions.has(submissionId) ||
    (key !== null && thrownAway.marks.has(markOf(post)));
  const stands = ({ post, key, submissionId }: Accepted): boolean =>
    key === null ? ids.has(submissionId) : byMark.has(markOf(post));
  const kept = ledger.filter((one) => !wasThrown(one));
  const promised = ledger.filter((one) => stands(one) || !wasThrown(one));
  result.thrownAway += ledger.length - promised.length;
  countLost(result, ids, byMark, promised);
  countDoubled(result, byMark, sent, thrownAway.restores);
  result.violations.push(
    ...strayAnswers(stored, byMark, kept, resolve),
    ...unlikeTheModel(stored, resolve),
    ...strayIdentities(stored, resolve, thrownAway.restores > 0),
  );
}

function countLost(
  result: Audit,
  ids: ReadonlySet<string>,
  byMark: ReadonlyMap<string, unknown>,
  ledger: readonly Accepted[],
): void {
  for (const [post, answers] of groupBy(ledger, (accepted) => accepted.post)) {
    const keyed = answers[0]?.key !== null;
    // Of one key, two receivers may have answered with two ids while Redis was away.
    const lost = keyed
      ? Number(!byMark.has(markOf(post)))
      : answers.filter(({ submissionId }) => !ids.has(submissionId)).length;
    const accepted = keyed ? 1 : answers.length;
    result.accepted += accepted;
    result.applied += accepted - lost;
    result.lost += lost;
    if (lost > 0)
      result.violations.push(
        `post ${post} is lost: ${answers.map(({ submissionId, at }) => `${submissionId} at ${at}`).join(', ')}`,
      );
  }
}

function countDoubled(
  result: Audit,
  byMark: ReadonlyMap<string, Submission[]>,
  sent: Traffic['sent'],
  restores: number,
): void {
  for (const { post, times } of sent.values()) {
    const { workspaceId } = post.target;
    const marked = byMark.get(markOf(post.post)) ?? [];
    const found = marked.filter((submission) => submission.workspaceId === workspaceId);
    // An older Redis does not know the key: a repeat is another submission, of the same lead.
    const allowed = post.key === null ? times : Math.min(times, 1 + restores);
    if (found.length <= allowed) continue;
    result.doubled += found.length - allowed;
    result.violations.push(
      `post ${post.post} stands ${found.length} times: ${found.map(({ id }) => id).join(', ')}`,
    );
  }
}

/** Every lead id that was answered stands for the lead that the submission is in. */
function strayAnswers(
  { leads }: Stored,
  byMark: ReadonlyMap<string, Submission[]>,
  ledger: readonly Accepted[],
  resolve: (id: string) => string,
): string[] {
  const violations: string[] = [];
  for (const { post, key, leadId, submissionId } of ledger) {
    const own = byMark.get(markOf(post)) ?? [];
    // Of one key another may stand in its place; after a restore both may, of two leads if they name nobody.
    const itself = own.find(({ id }) => id === submissionId);
    const submission = itself ?? (key === null ? undefined : own[0]);
    if (!leads.has(resolve(leadId)))
      violations.push(`lead id ${leadId} was answered and does not resolve`);
    else if (submission !== undefined && resolve(leadId) !== resolve(submission.leadId))
      violations.push(
        `lead id ${leadId} was answered, and submission ${submission.id} is in lead ${submission.leadId}`,
      );
  }
  return violations;
}

/** The model: a lead is what its submissions come to, applied one by one in their order. */
function unlikeTheModel(
  { submissions, leads, fields }: Stored,
  resolve: (id: string) => string,
): string[] {
  const byLead = groupBy(submissions, ({ leadId }) => resolve(leadId));
  const violations: string[] = [];
  for (const [id, own] of byLead) {
    const expected = own
      .toSorted((a, b) => a.order - b.order)
      .reduce((lead, submission) => applySubmissions(lead, [submission], fields), emptyLead());
    const lead = leads.get(id);
    if (lead === undefined) violations.push(`lead ${id} has submissions and no row`);
    else if (!isDeepStrictEqual(lead.state, expected))
      violations.push(`lead ${id} is not what its submissions come to`);
  }
  for (const [id, { mergedInto }] of leads)
    if (mergedInto === null && !byLead.has(id)) violations.push(`lead ${id} has no submission`);
  return violations;
}

/**
 * One owner a key, the one that was reserved; if a post named two leads, their pair is kept. After a
 * restore another lead may have claimed a key whose first job still waited, in another node or in a worker's
 * hands: then the two are kept as a pair as well.
 */
function strayIdentities(
  { submissions, leads, owners, possibleDuplicates }: Stored,
  resolve: (id: string) => string,
  mayBeClaimedTwice: boolean,
): string[] {
  const violations = new Set<string>();
  const arePaired = (one: string, other: string): boolean =>
    possibleDuplicates.has([resolve(one), resolve(other)].sort().join(' '));
  for (const { id, leadId, identities } of submissions)
    for (const { key, owner } of identities) {
      if (owner === null) continue;
      // A lead that was reserved and never enqueued, and so never answered, has no row.
      const exists = leads.has(resolve(owner));
      const holder = owners.get(key);
      const isElsewhere = holder === undefined || resolve(holder) !== resolve(owner);
      const isPaired = mayBeClaimedTwice && holder !== undefined && arePaired(holder, owner);
      if (exists && isElsewhere && !isPaired)
        violations.add(
          `a key of submission ${id} (lead ${leadId}) was reserved for lead ${owner} and is held by ${holder ?? 'none'}`,
        );
      if (resolve(owner) !== resolve(leadId) && !arePaired(owner, leadId))
        violations.add(`leads ${owner} and ${leadId} are not kept as possible duplicates`);
    }
  return [...violations];
}

function groupBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
