import { accept, requestAgain } from '@leadgate/intake';
import { decideHeld, showHeld, submissionsThere, type HeldDetails } from '@leadgate/store';
import type { Servers } from '../servers.ts';

export type ReleasedHeld =
  | {
      kind: 'released';
      submissionId: string;
      leadId: string;
      /** What its sender was told: another id of the lead where the lead was known. */
      answeredLeadId: string;
    }
  | { kind: 'already-released'; submissionId: string }
  /** Redis does not hold all of the workspace; a worker refills it. Try again. */
  | { kind: 'behind' }
  | { kind: 'unknown' };

/**
 * Takes a held submission after all, under the id that was answered: with the stamp of when it was
 * posted and an order of now. The lead id that was answered becomes the lead's, or stands for it
 * where the person was known. Doing it twice, also after a crash, makes one submission. Rejects when
 * Postgres or Redis fails.
 */
export async function releaseHeld(servers: Servers, heldId: string): Promise<ReleasedHeld> {
  const held = await showHeld(servers.store, heldId);
  if (held === null) return { kind: 'unknown' };
  const there = await submissionsThere(servers.store, [heldId]);
  if (held.state === 'released' || there.size > 0) {
    await decideHeld(servers.store, heldId, 'released');
    return { kind: 'already-released', submissionId: heldId };
  }
  return release(servers, held);
}

async function release(
  servers: Servers,
  { heldId, submission, answeredLeadId }: HeldDetails,
): Promise<ReleasedHeld> {
  const { held: _, ...request } = requestAgain(submission);
  const acceptance = await accept(servers, { ...request, offeredLeadId: answeredLeadId });
  if (acceptance.kind !== 'accepted') return { kind: 'behind' };
  // After the job stands: marked before, a crash in between would lose the lead.
  await decideHeld(servers.store, heldId, 'released');
  return { kind: 'released', submissionId: heldId, leadId: acceptance.leadId, answeredLeadId };
}
