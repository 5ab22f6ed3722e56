import type { Submission } from '@leadgate/contract';
import type { Tombstone } from '../tombstones.ts';
import { hashedUuid } from '../statements.ts';

/** What Postgres holds of one workspace, as far as a group touches it. */
export interface Known {
  /** Rows by lead id. */
  leads: Map<string, KnownLead>;
  /** Lead id by identity key. */
  owners: Map<string, string>;
  /** By identity key, of what may be from before an erasure. */
  tombstones: Map<string, Tombstone>;
}

export interface KnownLead {
  /** The lead that this alias stands for. */
  mergedInto: string | null;
  /** Microseconds since 1970: submissions with a stamp up to it are dropped. */
  erasedOrder: number | null;
}

/** Where a submission goes. */
export interface Route {
  submission: Submission;
  /** Whether it is to be applied; else an earlier run did. */
  fresh: boolean;
  /**
   * `lead`: to the lead it was reserved for, aliases followed. `successor`: to the one that begins
   * anew if that was erased. `erased`: nowhere, that was erased later than its facts are from, or
   * whom it names was.
   */
  kind: 'lead' | 'successor' | 'erased';
  leadId: string;
}

/** A key that Postgres gives to another lead than the reservation did, or to none. */
export interface Move {
  key: string;
  from: string;
  to: string | null;
}

/** What a group comes to in one workspace, before anything is locked. */
export interface Plan {
  routes: Route[];
  /** Lead rows to make: null for a lead, else what the alias stands for. */
  newLeads: Map<string, string | null>;
  /** Identities to store: owner by key. */
  claims: Map<string, string>;
  /** Pairs of leads, the lower id first; each pair once. */
  duplicates: [string, string][];
  /** Each move once. */
  moved: Move[];
}

/**
 * Decides where the submissions of one workspace go. Pure: the same submissions over the same
 * knowledge give the same plan, in whatever order they stand.
 *
 * Where reservation and Postgres disagree, Postgres wins, email before phone: a lead id without a
 * row whose key another lead owns becomes an alias of that lead; one with a row stays, and the two
 * are possible duplicates. Submissions that are not `fresh` are done; they only tell `moved`, in
 * case a crash kept Redis from hearing of it, and an answered id that nothing stands for yet. Nor do
 * `repetitions` more than that: submissions of the group once more, answered with another id.
 */
export function planWorkspace(
  submissions: readonly Submission[],
  fresh: ReadonlySet<string>,
  known: Known,
  repetitions: readonly Submission[] = [],
): Plan {
  const inOrder = submissions.toSorted((a, b) => a.order - b.order || (a.id < b.id ? -1 : 1));
  const planner = new Planner(known);
  const toApply = inOrder.filter(({ id }) => fresh.has(id));
  for (const own of byLead(toApply)) {
    planner.settleLead(own);
    for (const submission of own) planner.settle(submission);
  }
  // Only now is it known which ids are leads in their own right.
  for (const submission of toApply) planner.settleAnswered(submission);
  for (const submission of [...inOrder, ...repetitions])
    if (!toApply.includes(submission)) planner.settleAnsweredSince(submission);
  return planner.plan(inOrder, fresh);
}

type Target = Pick<Route, 'kind' | 'leadId'>;

class Planner {
  readonly #known: Known;
  readonly #targets = new Map<string, Target>();
  readonly #newLeads = new Map<string, string | null>();
  readonly #claims = new Map<string, string>();
  readonly #pairs: [string, string][] = [];

  constructor(known: Known) {
    this.#known = known;
  }

  /** Makes the row of a lead id that has none, as a lead or as an alias. */
  settleLead(own: readonly [Submission, ...Submission[]]): void {
    const { leadId } = own[0];
    if (this.#hasRow(leadId)) return;
    const kept = own.filter((submission) => this.#graveOf(submission) === null);
    const grave = kept.length === 0 ? this.#graveOf(own[0]) : null;
    if (grave !== null) {
      // The id was answered: it says that it was erased.
      this.#newLeads.set(leadId, grave);
      return;
    }
    const keys = kept.flatMap(ownKeys);
    const emailsFirst = [...keys.filter(isEmail), ...keys.filter((key) => !isEmail(key))];
    const owner = emailsFirst.map((key) => this.#ownerOf(key)).find((id) => id !== undefined);
    const lead = owner === undefined ? leadId : this.#resolve(owner);
    this.#newLeads.set(leadId, lead === leadId ? null : lead);
  }

  settle(submission: Submission): void {
    const target = this.#targetOf(submission);
    this.#targets.set(submission.id, target);
    if (target.kind === 'erased') return;
    const { leadId } = target;
    if (!this.#hasRow(leadId)) this.#newLeads.set(leadId, null);
    for (const { key, owner } of submission.identities) {
      if (owner === null) continue;
      const holder = owner === submission.leadId ? this.#ownerOf(key) : owner;
      if (holder === undefined) this.#claims.set(key, leadId);
      else this.#pairs.push([leadId, holder]);
    }
  }

  /** The id that was answered stands for the lead, unless it is a lead in its own right. */
  settleAnswered({ id, answeredLeadId }: Submission): void {
    const target = this.#targets.get(id);
    if (answeredLeadId === undefined || target === undefined) return;
    if (this.#hasRow(answeredLeadId)) this.#pairs.push([target.leadId, answeredLeadId]);
    else if (answeredLeadId !== target.leadId) this.#newLeads.set(answeredLeadId, target.leadId);
  }

  /**
   * The same for one that was applied before. Its sender posted it twice, to a receiver with Redis
   * and to one without, and was answered an id each.
   */
  settleAnsweredSince(submission: Submission): void {
    const { answeredLeadId } = submission;
    if (answeredLeadId === undefined || this.#hasRow(answeredLeadId)) return;
    const { leadId } = this.#targetOf(submission);
    if (answeredLeadId !== leadId && this.#hasRow(leadId))
      this.#newLeads.set(answeredLeadId, leadId);
  }

  plan(submissions: readonly Submission[], fresh: ReadonlySet<string>): Plan {
    return {
      routes: submissions.map((submission) => {
        const target = this.#targets.get(submission.id) ?? this.#targetOf(submission);
        return { submission, fresh: fresh.has(submission.id), ...target };
      }),
      newLeads: this.#newLeads,
      claims: this.#claims,
      duplicates: this.#duplicates(),
      moved: this.#moved(submissions),
    };
  }

  #hasRow(leadId: string): boolean {
    return this.#known.leads.has(leadId) || this.#newLeads.has(leadId);
  }

  #ownerOf(key: string): string | undefined {
    return this.#claims.get(key) ?? this.#known.owners.get(key);
  }

  #resolve(leadId: string): string {
    const lead = this.#newLeads.get(leadId) ?? this.#known.leads.get(leadId)?.mergedInto ?? null;
    return lead === null ? leadId : this.#resolve(lead);
  }

  /** Through aliases, and from an erased lead to the one that a later submission begins. */
  #targetOf(submission: Submission): Target {
    const grave = this.#graveOf(submission);
    if (grave !== null) return { kind: 'erased', leadId: grave };
    const { leadId, stamp, source } = submission;
    let at = this.#resolve(leadId);
    for (let kind: Route['kind'] = 'lead'; ; kind = 'successor') {
      const erasedOrder = this.#erasedOrder(at);
      if (erasedOrder === null) return { kind, leadId: at };
      const next = this.#resolve(successorOf(at));
      // Nobody comes back by taking back what they granted.
      if (stamp <= erasedOrder || (source === 'withdrawal' && !this.#hasRow(next)))
        return { kind: 'erased', leadId: at };
      at = next;
    }
  }

  /**
   * The erased lead whose person a submission names that comes late: reserved after the erasure, under
   * another id, and from before it. The first key that is known decides, as at a reservation. A row
   * of an import that does not say when it is from proves nothing of a person who is not back.
   */
  #graveOf(submission: Submission): string | null {
    const { stamp, order, source } = submission;
    for (const key of ownKeys(submission)) {
      const tombstone = this.#known.tombstones.get(key);
      if (tombstone !== undefined && stamp <= tombstone.erasedOrder) return tombstone.leadId;
      if (this.#known.owners.has(key)) return null;
      if (tombstone !== undefined && source === 'import' && stamp === order)
        return tombstone.leadId;
    }
    return null;
  }

  #erasedOrder(leadId: string): number | null {
    return this.#known.leads.get(leadId)?.erasedOrder ?? null;
  }

  #duplicates(): [string, string][] {
    const pairs = new Map<string, [string, string]>();
    for (const pair of this.#pairs) {
      const [a, b] = pair.map((id) => this.#resolve(id)).sort() as [string, string];
      if (a === b || this.#erasedOrder(a) !== null || this.#erasedOrder(b) !== null) continue;
      pairs.set(`${a} ${b}`, [a, b]);
    }
    return [...pairs.values()];
  }

  #moved(submissions: readonly Submission[]): Move[] {
    const moves = new Map<string, Move>();
    for (const submission of submissions)
      for (const key of ownKeys(submission)) {
        const owner = this.#ownerOf(key);
        const from = submission.leadId;
        const unowned = this.#targetOf(submission).kind === 'erased' ? null : from;
        const to = owner === undefined ? unowned : this.#resolve(owner);
        if (to !== from) moves.set(`${from} ${key}`, { key, from, to });
      }
    return [...moves.values()];
  }
}

/** The keys that the reservation gave to the submission's own lead. */
function ownKeys({ leadId, identities }: Submission): string[] {
  return identities.filter(({ owner }) => owner === leadId).map(({ key }) => key);
}

function isEmail(key: string): boolean {
  return key.startsWith('email:');
}

function byLead(submissions: readonly Submission[]): [Submission, ...Submission[]][] {
  const groups = new Map<string, [Submission, ...Submission[]]>();
  for (const submission of submissions) {
    const group = groups.get(submission.leadId);
    if (group === undefined) groups.set(submission.leadId, [submission]);
    else group.push(submission);
  }
  return [...groups.values()];
}

/**
 * The id under which an erased lead begins anew when a later submission reaches it: the same on
 * every worker and every retry, and telling nothing.
 */
export const successorOf = (leadId: string): string => hashedUuid(`successor of ${leadId}`);
