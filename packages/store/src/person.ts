import { contactsIn } from '@leadgate/leads';
import { answeredIds, findKept } from './erase.ts';
import { type LeadDetails, showLead } from './lead-details.ts';
import type { Store } from './open-store.ts';
import { type SubmissionDetails, submissionsOfLead } from './submissions.ts';

/** What an endpoint was sent of a person. */
export interface SentTo {
  endpoint: string;
  url: string;
  event: string;
  /** The version of the lead that it took last. */
  version: number;
  at: Date;
}

/** All that Postgres knows of a person. */
export interface KnownOfPerson {
  lead: Omit<LeadDetails, 'history'>;
  submissions: SubmissionDetails[];
  refused: unknown[];
  held: unknown[];
  discarded: unknown[];
  sentTo: SentTo[];
  /** Tells what else was sent by the person, or names them. */
  isTheirs: (content: unknown) => boolean;
}

/** All that Postgres knows of the person of a lead, by any of its ids; null if there is none. */
export async function knownOfPerson(store: Store, anyId: string): Promise<KnownOfPerson | null> {
  const details = await showLead(store, anyId, { historyLimit: 1 });
  if (details === null) return null;
  const { history: _, ...lead } = details;
  const { workspaceId, leadId, aliases } = lead;
  const { country } = await store.prisma.workspace.findUniqueOrThrow({
    where: { id: workspaceId },
  });
  const ids = new Set([leadId, ...aliases]);
  const identities = new Set(lead.identities.map(({ kind, value }) => `${kind}:${value}`));
  const isTheirs = (content: unknown): boolean =>
    answeredIds(content).some((id) => ids.has(id)) ||
    contactsIn(content, country).some((identity) => identities.has(identity));
  const [submissions, kept, sentTo] = await Promise.all([
    submissionsOfLead(store, leadId),
    findKept(store, lead, ({ content, became }) => became || isTheirs(content)),
    sentToEndpoints(store, [...ids]),
  ]);
  const of = (table: (typeof kept)[number]['table']) =>
    kept.flatMap((one) => (one.table === table ? [{ id: one.id, content: one.content }] : []));
  return {
    lead,
    submissions,
    refused: of('rejected_submission'),
    held: of('held_submission'),
    discarded: of('discarded_submission'),
    sentTo,
    isTheirs,
  };
}

function sentToEndpoints({ prisma }: Store, ids: readonly string[]): Promise<SentTo[]> {
  return prisma.$queryRaw<SentTo[]>`
    SELECT e.name AS endpoint, e.url, d.event, d.delivered_version AS version,
           d.delivered_at AS at
    FROM delivery d JOIN endpoint e ON e.id = d.endpoint_id
    WHERE d.lead_id = ANY (${ids}::uuid[]) AND d.delivered_at IS NOT NULL
    ORDER BY d.delivered_at`;
}
