import { type Logger, traced } from '@leadgate/boot';
import type { Submission } from '@leadgate/contract';
import type { GroupResult } from '@leadgate/store';
import type { GroupItem } from './groups/group-commit.ts';

export interface ApplyJobs {
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
