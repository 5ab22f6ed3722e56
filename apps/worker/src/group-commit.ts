import { errorFacts, type Logger, traced } from '@leadgate/boot';
import type { Submission } from '@leadgate/contract';
import type { Outcome } from '@leadgate/queue';
import type { GroupResult } from '@leadgate/store';

interface ApplyJobs {
  /** One transaction for all of them. */
  applyGroup: (items: GroupItem[]) => Promise<GroupResult>;
  /** Keeps those that were caught as spam, which are not applied. */
  saveHeld: (submissions: Submission[]) => Promise<void>;
  /** Lets Redis follow if Postgres found another owner. */
  moveIdentities: (moved: GroupResult['moved']) => Promise<void>;
  logger: Pick<Logger, 'info' | 'debug' | 'warn'>;
}

/**
 * Applies a group, lets the identities in Redis follow, and writes what happened to the log: a line
 * a group, and at level debug a line a submission, with the request it came from. Its span, if it is traced,
 * is linked with those that accepted its submissions.
 */
export function createCommit(options: ApplyJobs): (items: GroupItem[]) => Promise<void> {
  const commit = commitOf(options);
  return (items) =>
    traced(
      'commit',
      () => items.map(({ submission }) => submission.traceparent),
      () => commit(items),
    );
}

function commitOf({
  applyGroup,
  saveHeld,
  moveIdentities,
  logger,
}: ApplyJobs): (items: GroupItem[]) => Promise<void> {
  return async (all) => {
    const held = all.flatMap(({ submission }) => (submission.held ? [submission] : []));
    const items = all.filter(({ submission }) => submission.held === undefined);
    if (held.length > 0) {
      await saveHeld(held);
      logger.info({ submissions: held.length }, 'held');
    }
    if (items.length === 0) return;
    const start = performance.now();
    const { applied, moved } = await applyGroup(items);
    const ms = Math.round(performance.now() - start);
    logger.info({ submissions: items.length, ...countOutcomes(applied), ms }, 'group applied');
    const requestIds = new Map(items.map(({ submission: s }) => [s.id, s.requestId]));
    for (const { submissionId, leadId, outcome } of applied)
      logger.debug(
        { submissionId, leadId, outcome, requestId: requestIds.get(submissionId) },
        'submission applied',
      );
    if (moved.length === 0) return;
    try {
      await moveIdentities(moved);
    } catch (err) {
      // The commit stands, and a key that stays behind is found and moved by its next submission.
      logger.warn({ err, identities: moved.length }, 'identities in Redis could not follow');
    }
  };
}

function countOutcomes(applied: GroupResult['applied']): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { outcome } of applied) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

/** One submission to apply; a replay applies again though it is stored already. */
export interface GroupItem {
  submission: Submission;
  replay: boolean;
}

/** What kind of failure an error of a commit is, as the store tells them apart. */
export type Failure = 'conflict' | 'data' | 'unavailable' | 'bug';

interface GroupCommitOptions {
  /** Applies all of them in one transaction, or none. */
  commit: (items: GroupItem[]) => Promise<void>;
  failureOf: (error: unknown) => Failure;
  /** Submissions in a group at most. */
  maxGroupSize: number;
  /** Groups that commit at once. */
  maxGroups: number;
  /** Told when Postgres goes away and when it is back. */
  onOutage: (away: boolean) => void;
  wait: Wait;
  logger: Pick<Logger, 'warn' | 'error'>;
}

interface GroupCommit {
  /**
   * Resolves once each of them is committed, cannot be applied, or is not waited for any longer, as
   * Postgres was away when the worker stopped: with what became of each, in their order. Never
   * rejects. `alone`: each in a transaction of its own.
   */
  add(items: readonly GroupItem[], options: { alone: boolean }): Promise<Outcome[]>;
  /** Whether Postgres was away at the last try. */
  readonly away: boolean;
  /** From now on nothing waits for Postgres to come back: its job goes back to the queue instead. */
  stop(): void;
  /**
   * Waits no longer for what is not settled by now, nor for what comes. Some of what Postgres has not
   * answered may stand all the same: whoever applies it again finds it done.
   */
  abandon(): void;
}

interface Entry {
  item: GroupItem;
  settle: (outcome: Outcome) => void;
}

const SETTLED: Outcome = { kind: 'settled' };
const NACKED: Outcome = { kind: 'nacked' };

/** Two transactions in each other's way: the second or third try goes through. */
const MOST_CONFLICTS = 5;
const CONFLICT_WAIT_MS = 20;

/** Jobs come back from Redis one by one: what came first is worth a transaction once more are there. */
const FILL_MS = 10;

/** While all that is held fits into a group, a transaction so often is enough: each has its price. */
const PACE_MS = 100;

/**
 * Gathers submissions into groups that are committed as one: while a group commits, the next one
 * gathers, so that a group is as large as the load makes it. What comes after a pause waits for nobody;
 * else a group that is not full waits for some milliseconds.
 *
 * A group that fails for its data, or for a bug, is halved until what fails stands alone; the rest
 * is applied. While Postgres is away, groups keep what they have and try again.
 */
export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { commit, failureOf, maxGroupSize, maxGroups, onOutage, wait, logger } = options;
  const stopping = new AbortController();
  const outage = createOutage({ onChange: onOutage, wait, stopped: stopping.signal });
  const unsettled = new Set<Entry>();
  const gathering: Entry[] = [];
  const loners: Entry[] = [];
  let abandoned = false;
  let committing = 0;
  let scheduled = false;
  let filling: 'no' | 'yes' | 'over' = 'no';
  let lastStart = -Infinity;

  /** Groups start at the end of the turn, so that jobs which arrived together go together. */
  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      startGroups();
    });
  }

  function startGroups(): void {
    while (committing < maxGroups) {
      const group = nextGroup();
      if (group.length === 0) return;
      committing++;
      void settle(group).finally(() => {
        committing--;
        schedule();
      });
    }
  }

  function nextGroup(): Entry[] {
    const loner = loners.shift();
    if (loner !== undefined) return [loner];
    if (gathering.length === 0) return [];
    if (gathering.length < maxGroupSize && filling !== 'over') {
      const paced = unsettled.size < maxGroupSize ? lastStart + PACE_MS - performance.now() : 0;
      const ms = Math.max(paced, committing > 0 ? FILL_MS : 0);
      if (ms > 0) {
        fill(ms);
        return [];
      }
    }
    filling = 'no';
    lastStart = performance.now();
    return gathering.splice(0, maxGroupSize);
  }

  /** Lets a group fill for a moment. */
  function fill(ms: number): void {
    if (filling === 'yes') return;
    filling = 'yes';
    void wait(ms, stopping.signal)
      .catch(() => {})
      .then(() => {
        if (filling !== 'yes') return;
        filling = 'over';
        startGroups();
      });
  }

  /** Resolves when every entry is resolved or rejected. Never rejects. */
  async function settle(group: Entry[]): Promise<void> {
    for (let conflicts = 0; ;) {
      try {
        await commit(group.map((entry) => entry.item));
        outage.over();
        for (const entry of group) entry.settle(SETTLED);
        return;
      } catch (error) {
        const failure = failureOf(error);
        if (failure === 'unavailable') {
          if (await outage.sitOut()) continue;
          nack(group);
          return;
        }
        outage.over();
        if (failure === 'conflict' && ++conflicts < MOST_CONFLICTS) {
          await wait(CONFLICT_WAIT_MS * (conflicts + Math.random()), stopping.signal).catch(
            () => {},
          );
          continue;
        }
        await isolate(group, failure, error);
        return;
      }
    }
  }

  /** One after the other: halves of one group may hold submissions of one lead. */
  async function isolate(group: Entry[], failure: Failure, error: unknown): Promise<void> {
    const [first] = group;
    if (group.length > 1) {
      const middle = Math.ceil(group.length / 2);
      logger.warn(
        { submissions: group.length, failure, err: error },
        'halving a group that failed',
      );
      await settle(group.slice(0, middle));
      await settle(group.slice(middle));
      return;
    }
    if (first === undefined) return;
    const { id, workspaceId } = first.item.submission;
    logger.error({ submissionId: id, workspaceId, failure, err: error }, 'submission not applied');
    first.settle({ kind: 'failed', reason: reasonOf(failure, error) });
  }

  function nack(group: Iterable<Entry>): void {
    for (const entry of [...group, ...gathering.splice(0), ...loners.splice(0)])
      entry.settle(NACKED);
  }

  return {
    add(items, { alone }) {
      if (abandoned) return Promise.resolve(items.map(() => NACKED));
      return new Promise((resolve) => {
        const outcomes: Outcome[] = items.map(() => NACKED);
        let left = items.length;
        if (left === 0) resolve(outcomes);
        items.forEach((item, n) => {
          const entry: Entry = {
            item,
            settle(outcome) {
              if (!unsettled.delete(entry)) return;
              outcomes[n] = outcome;
              if (--left === 0) resolve(outcomes);
            },
          };
          unsettled.add(entry);
          (alone ? loners : gathering).push(entry);
        });
        schedule();
      });
    },
    get away() {
      return outage.away;
    },
    stop() {
      stopping.abort();
    },
    abandon() {
      abandoned = true;
      if (unsettled.size > 0)
        logger.warn({ submissions: unsettled.size }, 'not waiting for Postgres any longer');
      nack(unsettled);
    },
  };
}

/** What operators see of a failed job, and list failures by. Holds no value of the submission. */
function reasonOf(failure: Failure, error: unknown): string {
  const { type, code } = errorFacts(error);
  switch (failure) {
    case 'data':
      return `Postgres refused the data${code === undefined ? '' : ` (${code})`}`;
    case 'conflict':
      return `other transactions kept getting in the way${code === undefined ? '' : ` (${code})`}`;
    default:
      return `failed with ${type}${code === undefined ? '' : ` (${code})`}`;
  }
}

/** Waits; rejects or resolves early when the signal is aborted. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<unknown>;

interface Outage {
  /** Whether Postgres was away at the last try. */
  readonly away: boolean;
  /** Postgres was away just now: resolves true when it is time to try again, false when nobody will. */
  sitOut(): Promise<boolean>;
  /** Postgres answered. */
  over(): void;
}

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2_000;

/**
 * One outage for everybody who meets it: they wait together, twice as long after each failed try up
 * to two seconds, and `onChange` is told once when it begins and once when it is over.
 */
function createOutage({
  onChange,
  wait,
  stopped,
}: {
  onChange: (away: boolean) => void;
  wait: Wait;
  stopped: AbortSignal;
}): Outage {
  let away = false;
  let waitMs = FIRST_WAIT_MS;
  let waiting: Promise<unknown> | null = null;

  return {
    get away() {
      return away;
    },
    async sitOut() {
      if (!away) {
        away = true;
        onChange(true);
      }
      if (stopped.aborted) return false;
      if (waiting === null) {
        waiting = wait(waitMs, stopped)
          .catch(() => {})
          .finally(() => (waiting = null));
        waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
      }
      await waiting;
      return !stopped.aborted;
    },
    over() {
      waitMs = FIRST_WAIT_MS;
      if (!away) return;
      away = false;
      onChange(false);
    },
  };
}
