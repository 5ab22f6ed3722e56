import { randomUUID } from 'node:crypto';
import type { CaptureLink, Submission } from '@leadgate/contract';
import { accept, type Acceptance, type Intake } from '@leadgate/intake';
import type { LeadReading } from '@leadgate/leads';

/** What was read of a body that an operator hands in. */
export type ReadBody = Extract<LeadReading, { kind: 'read' }>;

interface OperatorBody
  extends
    Pick<Submission, 'source' | 'body' | 'bodyType'>,
    Partial<Pick<Submission, 'page' | 'userAgent' | 'address' | 'requestId'>> {
  submissionId: string;
  link: Pick<CaptureLink, 'workspaceId' | 'linkId'>;
  reading: ReadBody;
  /** Microseconds since 1970: the time the facts are from. The order, if that is earlier. */
  stamp: number | null;
  /** Live traffic goes first. */
  background: boolean;
}

/** Accepts a body that an operator hands in, without limits. Rejects when Redis fails. */
export function acceptBody(
  intake: Intake,
  { submissionId, link, reading, stamp, background, ...sent }: OperatorBody,
): Promise<Acceptance> {
  const { identities, lead, notes, consent, held } = reading;
  return accept(intake, {
    submission: {
      id: submissionId,
      workspaceId: link.workspaceId,
      linkId: link.linkId,
      lead,
      notes,
      ...(consent !== undefined && { consent }),
      ...sent,
    },
    offeredLeadId: randomUUID(),
    identityKeys: identities,
    ...(stamp !== null && { stamp }),
    ...(held !== undefined && { held }),
    background,
  });
}
