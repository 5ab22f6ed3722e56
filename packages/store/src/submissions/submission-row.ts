import type { Lead, Note, SubmissionSource } from '@leadgate/contract';
import { Prisma } from '../generated/client.ts';
import { isoTime } from '../iso-time.ts';

/** What is read of a submission in a list; `submissionJoins` belongs to it. */
export const submissionColumns = Prisma.sql`
  s.id AS "submissionId", s.workspace_id AS "workspaceId", s.link_id AS "linkId",
  k.label AS "linkLabel", coalesce(l.merged_into, s.lead_id) AS "leadId",
  s."order"::float8 AS "order", s.stamp::float8 AS stamp, s.source, s.lead, s.notes`;

export const submissionJoins = Prisma.sql`
  LEFT JOIN capture_link k ON k.id = s.link_id
  LEFT JOIN lead l ON l.workspace_id = s.workspace_id AND l.id = s.lead_id`;

/** A submission as it is listed. */
export interface SubmissionSummary {
  submissionId: string;
  workspaceId: string;
  linkId: string;
  linkLabel: string | null;
  /** The lead it belongs to today, aliases and merges followed. */
  leadId: string;
  /** When it was accepted: ISO 8601, UTC. */
  acceptedAt: string;
  /** The time its facts are from: ISO 8601, UTC. */
  at: string;
  source: SubmissionSource;
  /** What it sent, normalised. */
  lead: Lead;
  notes: Note[];
}

/** A row of `submissionColumns`: its times are microseconds since 1970. */
export type SubmissionRow = Omit<SubmissionSummary, 'acceptedAt' | 'at'> & {
  order: number;
  stamp: number;
};

/** A listed submission from its row. */
export function readSubmissionSummary<Row extends SubmissionRow>({
  order,
  stamp,
  ...row
}: Row): Omit<Row, 'order' | 'stamp'> & { acceptedAt: string; at: string } {
  return { ...row, acceptedAt: isoTime(order), at: isoTime(stamp) };
}
