import type { BodyType, FieldError } from '@leadgate/contract';
import { Prisma } from '../generated/client.ts';
import { isoTime } from '../iso-time.ts';

/** A refused body as it is listed: what was wrong with it, and nothing of what it said. */
export interface RejectedSummary {
  rejectedId: string;
  workspaceId: string;
  linkId: string;
  linkLabel: string | null;
  /** When it was refused: ISO 8601, UTC. */
  at: string;
  /** Of the problem it was answered with. */
  code: string;
  errors: FieldError[];
  bodyType: BodyType;
  /** Of the body as sent, in UTF-8. */
  bytes: number;
  /** When an operator mended it last. */
  mendedAt: Date | null;
  /** The submission that it became after all. */
  submissionId: string | null;
  replayedAt: Date | null;
}

/** What is read of a refused body in a list; `rejectedJoins` belongs to it. */
export const rejectedColumns = Prisma.sql`
  r.id AS "rejectedId", r.workspace_id AS "workspaceId", r.link_id AS "linkId",
  k.label AS "linkLabel", r.stamp::float8 AS stamp, r.code, r.errors, r.body_type AS "bodyType",
  octet_length(r.body) AS bytes, r.mended_at AS "mendedAt", r.submission_id AS "submissionId",
  r.replayed_at AS "replayedAt"`;

export const rejectedJoins = Prisma.sql`LEFT JOIN capture_link k ON k.id = r.link_id`;

/** A row of `rejectedColumns`: its time is microseconds since 1970. */
export type RejectedRow = Omit<RejectedSummary, 'at'> & { stamp: number };

/** A listed body from its row. */
export function readRejectedSummary({ stamp, ...row }: RejectedRow): RejectedSummary {
  return { ...row, at: isoTime(stamp) };
}
