import { randomUUID } from 'node:crypto';
import type { CaptureLink, Submission } from '@leadgate/contract';
import type { LeadReading } from '@leadgate/leads';
import type { Servers } from './servers.ts';

/** What was read of a body that an operator hands in. */
export type ReadBody = Extract<LeadReading, { kind: 'read' }>;

export interface HandedIn
  extends
    Pick<Submission, 'source' | 'body' | 'bodyType'>,
    Partial<Pick<Submission, 'page' | 'userAgent' | 'address' | 'requestId'>> {
  submissionId: string;
  link: Pick<CaptureLink, 'workspaceId' | 'linkId'>;
  reading: ReadBody;
  /** Microseconds since 1970: the time the facts are from. The order, where that is earlier. */
  stamp: number | null;
  /** Live traffic goes first. */
  background: boolean;
}

export type HandingIn =
  | { kind: 'accepted'; leadId: string }
  /** Redis does not hold all of the workspace; a worker refills it. */
  | { kind: 'behind' };

/**
 * Reserves and enqueues a body that an operator hands in, as the receiver does with a posted one,
 * without limits. Rejects when Redis fails: the same again under the same id is harmless.
 */
export async function acceptBody(
  { reserver, producer }: Pick<Servers, 'reserver' | 'producer'>,
  { submissionId, link, reading, stamp, background, ...sent }: HandedIn,
): Promise<HandingIn> {
  const { workspaceId, linkId } = link;
  const { identities: identityKeys, lead, notes, consent } = reading;
  const reservation = await reserver.reserve({
    submissionId,
    workspaceId,
    linkId,
    offeredLeadId: randomUUID(),
    identityKeys,
    limits: [],
  });
  // Without limits and an idempotency key there is nothing else that it can be.
  if (reservation.kind !== 'reserved') return { kind: 'behind' };
  const { leadId, identities, order } = reservation;
  await producer.enqueue(
    {
      id: submissionId,
      workspaceId,
      linkId,
      leadId,
      identities,
      order,
      stamp: stamp === null ? order : Math.min(stamp, order),
      lead,
      notes,
      ...(consent !== undefined && { consent }),
      ...sent,
    },
    { background },
  );
  return { kind: 'accepted', leadId };
}
