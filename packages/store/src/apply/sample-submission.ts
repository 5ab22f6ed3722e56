import type { Lead, OwnedIdentity, Submission } from '@leadgate/contract';
import { randomBytes } from 'node:crypto';

let lastOrder = 1_700_000_000_000_000;

/** A submission for tests: of the next order, its keys those of `lead` and owned by `leadId`. */
export function sampleSubmission(
  given: Pick<Submission, 'workspaceId' | 'leadId'> & Partial<Submission>,
): Submission {
  const order = given.order ?? (lastOrder += 1_000);
  const lead = given.lead ?? {};
  return {
    id: sampleSubmissionId(order),
    linkId: given.workspaceId,
    identities: keysOf(lead).map((key): OwnedIdentity => ({ key, owner: given.leadId })),
    order,
    stamp: order,
    source: 'post',
    lead,
    notes: [],
    body: JSON.stringify(lead),
    bodyType: 'json',
    ...given,
  };
}

/** A UUIDv7 of that time, in microseconds. */
function sampleSubmissionId(order: number): string {
  const time = Math.floor(order / 1_000)
    .toString(16)
    .padStart(12, '0');
  const random = randomBytes(10).toString('hex');
  return [
    time.slice(0, 8),
    time.slice(8),
    `7${random.slice(0, 3)}`,
    `8${random.slice(3, 6)}`,
    random.slice(6, 18),
  ].join('-');
}

/** The keys of a lead, email first, without the rules of phones. */
export function keysOf({ email, telephone }: Lead): string[] {
  return [
    ...(email === undefined ? [] : [`email:${email}`]),
    ...(telephone === undefined ? [] : [`phone:+${telephone}`]),
  ];
}
