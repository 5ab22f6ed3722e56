import type { LeadEventType } from '@leadgate/contract';
import type { DeliveryTry } from './deliveries.ts';
import type { Store } from './open-store.ts';

/** A message about a lead that went to an endpoint, or was tried to be sent. */
interface SentOfLead {
  endpointId: string;
  endpoint: string;
  at: Date;
  event: LeadEventType;
  outcome: DeliveryTry['outcome'];
  /** Of the answer; null: there was none, or it is no longer kept. */
  status: number | null;
}

/** What happened with a lead besides what was posted. */
export interface LeadEvents {
  /** Newest first: tries as long as they are kept, of older ones the last that an endpoint took. */
  sent: SentOfLead[];
  /** What endpoints are still to be told. */
  waiting: { endpointId: string; endpoint: string; dueAt: Date; attempts: number }[];
  /** Leads that became this one, newest first. */
  merges: { leadId: string; at: Date }[];
}

/** Of the lead of any id ever answered, at most `limit` messages. Null if no lead has the id. */
export async function leadEvents(
  { prisma }: Store,
  leadId: string,
  limit: number,
): Promise<LeadEvents | null> {
  type Own = { id: string; workspaceId: string; mergedAt: Date | null };
  const own = await prisma.$queryRaw<Own[]>`
    SELECT own.id, own.workspace_id AS "workspaceId",
      -- An alias that never was a lead of its own was made as one.
      CASE WHEN own.merged_into IS NOT NULL AND own.updated_at > own.created_at
           THEN own.updated_at END AS "mergedAt"
    FROM workspace w
    JOIN lead asked ON asked.workspace_id = w.id AND asked.id = ${leadId}::uuid
    JOIN lead own ON own.workspace_id = w.id
      AND (own.id = coalesce(asked.merged_into, asked.id)
        OR own.merged_into = coalesce(asked.merged_into, asked.id))
    ORDER BY own.updated_at DESC`;
  const [first] = own;
  if (first === undefined) return null;
  const ids = own.map(({ id }) => id);
  const [sent, waiting] = await Promise.all([
    prisma.$queryRaw<SentOfLead[]>`
      SELECT e.id AS "endpointId", e.name AS endpoint, t.at, t.event, t.outcome, t.status
      FROM delivery_attempt t JOIN endpoint e ON e.id = t.endpoint_id
      WHERE t.lead_id = ANY (${ids}::uuid[])
      UNION ALL
      SELECT e.id, e.name, d.delivered_at, d.event, 'delivered', NULL
      FROM endpoint e JOIN delivery d ON d.endpoint_id = e.id AND d.lead_id = ANY (${ids}::uuid[])
      WHERE e.workspace_id = ${first.workspaceId}::uuid AND d.delivered_at IS NOT NULL
        AND NOT EXISTS (
          SELECT FROM delivery_attempt t
          WHERE t.endpoint_id = e.id AND t.lead_id = d.lead_id AND t.outcome = 'delivered')
      ORDER BY at DESC LIMIT ${limit}::int`,
    prisma.$queryRaw<LeadEvents['waiting']>`
      SELECT e.id AS "endpointId", e.name AS endpoint, d.due_at AS "dueAt", d.attempts
      FROM endpoint e JOIN delivery d ON d.endpoint_id = e.id AND d.lead_id = ANY (${ids}::uuid[])
      WHERE e.workspace_id = ${first.workspaceId}::uuid AND d.due_at IS NOT NULL
      ORDER BY d.due_at, e.name`,
  ]);
  const merges = own.flatMap(({ id, mergedAt }) =>
    mergedAt === null ? [] : [{ leadId: id, at: mergedAt }],
  );
  return { sent, waiting, merges };
}
