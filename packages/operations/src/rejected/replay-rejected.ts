import type { FieldError } from '@leadgate/contract';
import {
  listRejected,
  markReplayed,
  showRejected,
  submissionsThere,
  type RejectedFilter,
} from '@leadgate/store';
import { acceptBody } from '../accept.ts';
import { derivedId, timeOfId } from '../derived-id.ts';
import { linkRules } from '../link-rules.ts';
import type { Servers } from '../servers.ts';
import { bodyThatCounts, readRejected, type ReadRejectedOptions } from './read-rejected.ts';

export interface ReplayRejectedOptions extends ReadRejectedOptions {
  /** Says what would come of it, and changes nothing. */
  dryRun?: boolean;
}

export type ReplayedRejected =
  | { kind: 'accepted'; submissionId: string; leadId: string }
  /** With `dryRun`: it would be accepted. */
  | { kind: 'acceptable'; submissionId: string }
  | { kind: 'already-replayed'; submissionId: string }
  | { kind: 'refused'; code: string; errors: FieldError[] }
  /** Redis does not hold all of the workspace; a worker refills it. Try again. */
  | { kind: 'behind' }
  | { kind: 'unknown' };

/**
 * Takes a refused body after all, as mended: it is a submission with the stamp of when it was
 * refused and an order of now, whose id follows from that of the refused body. Doing it twice, also
 * at once and after a crash, makes one submission. Rejects when Postgres or Redis fails.
 */
export async function replayRejected(
  servers: Servers,
  rejectedId: string,
  options: ReplayRejectedOptions,
): Promise<ReplayedRejected> {
  const rejected = await showRejected(servers.store, rejectedId);
  const link = rejected === null ? null : await linkRules(servers.store, rejected.linkId);
  if (rejected === null || link === null) return { kind: 'unknown' };
  if (rejected.submissionId !== null)
    return { kind: 'already-replayed', submissionId: rejected.submissionId };

  const reading = readRejected(bodyThatCounts(rejected), link, options);
  if (reading.kind === 'refused') return reading;
  const submissionId = derivedId(timeOfId(rejectedId), ['rejected', rejectedId]);
  if (options.dryRun === true) return { kind: 'acceptable', submissionId };
  // Applied already: whoever replayed it went away before marking it.
  if ((await submissionsThere(servers.store, [submissionId])).size > 0) {
    await markReplayed(servers.store, rejectedId, submissionId);
    return { kind: 'already-replayed', submissionId };
  }
  const { page, userAgent, address } = rejected;
  const accepted = await acceptBody(servers, {
    submissionId,
    link,
    reading,
    stamp: rejected.stamp,
    source: 'post',
    background: false,
    ...bodyThatCounts(rejected),
    ...(page !== null && { page }),
    ...(userAgent !== null && { userAgent }),
    ...(address !== null && { address }),
    requestId: rejectedId,
  });
  if (accepted.kind !== 'accepted') return { kind: 'behind' };
  // After the job stands: marked before, a crash in between would lose the lead.
  await markReplayed(servers.store, rejectedId, submissionId);
  return accepted;
}

const PAGE = 200;

/**
 * Replays every refused body that fits and has not been replayed, newest first, one after the other
 * as the results are taken. What is refused again stays as it is.
 */
export async function* replayAllRejected(
  servers: Servers,
  filter: Omit<RejectedFilter, 'replayed' | 'before'>,
  options: ReplayRejectedOptions,
): AsyncGenerator<{ rejectedId: string; outcome: ReplayedRejected }> {
  let before: string | undefined;
  do {
    const page = await listRejected(
      servers.store,
      { ...filter, replayed: false, ...(before !== undefined && { before }) },
      PAGE,
    );
    for (const { rejectedId } of page)
      yield { rejectedId, outcome: await replayRejected(servers, rejectedId, options) };
    before = page.at(-1)?.rejectedId;
  } while (before !== undefined);
}
