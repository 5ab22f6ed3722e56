import type { HeldReason, Lead, Submission } from '@leadgate/contract';
import { Prisma } from '../generated/client.ts';
import { isoTime } from '../iso-time.ts';

/** What became of a held submission. */
export type HeldState = 'held' | 'released' | 'discarded';

/** A held submission as it is listed. */
export interface HeldSummary {
  heldId: string;
  workspaceId: string;
  linkId: string;
  linkLabel: string | null;
  reason: HeldReason;
  state: HeldState;
  /** When it was posted: ISO 8601, UTC. */
  at: string;
  /** The lead id that was answered. */
  answeredLeadId: string;
  /** What it sent, normalised. */
  lead: Lead;
  decidedAt: Date | null;
}

/** What is read of a held submission; `heldJoins` belongs to it. */
export const heldColumns = Prisma.sql`
  h.id AS "heldId", h.workspace_id AS "workspaceId", h.link_id AS "linkId",
  k.label AS "linkLabel", h.reason, h.state, h.content, h.decided_at AS "decidedAt"`;
export const heldJoins = Prisma.sql`LEFT JOIN capture_link k ON k.id = h.link_id`;

export type HeldRow = Omit<HeldSummary, 'at' | 'answeredLeadId' | 'lead'> & {
  /** As it was encoded by this service. */
  content: Submission;
};

export function readHeldSummary({ content, ...row }: HeldRow): HeldSummary {
  return {
    ...row,
    at: isoTime(content.stamp),
    answeredLeadId: content.answeredLeadId ?? content.leadId,
    lead: content.lead,
  };
}
