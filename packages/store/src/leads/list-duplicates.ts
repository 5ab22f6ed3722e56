import { isUuid } from '../display-text.ts';
import type { Store } from '../open-store.ts';

/** One lead of a pair. */
export interface DuplicateSide {
  leadId: string;
  name: string | null;
  email: string | null;
  telephone: string | null;
}

/** Two leads that one submission named at once: its email is of the one, its phone of the other. */
export interface DuplicatePair {
  workspaceId: string;
  a: DuplicateSide;
  b: DuplicateSide;
  /** When it was first seen: ISO 8601, UTC. */
  since: string;
  /** Its place in the list, to go on after. */
  pair: string;
}

export interface DuplicateFilter {
  workspaceId?: string;
  /** Only pairs of this lead: the id that it has today. */
  leadId?: string;
  /** Only pairs first seen at this moment or later. */
  since?: Date;
  /** Only pairs first seen before this moment. */
  until?: Date;
  /** Only those that come after this one in the list: `pair` of the last of the page before. */
  after?: string;
}

const PAIR = /^(\d{1,16})_([0-9a-f-]{36})_([0-9a-f-]{36})$/;

/** Whether a text is the `pair` of one that may have been listed. */
export const isDuplicatePair = (text: string): boolean => {
  const [, , a = '', b = ''] = PAIR.exec(text) ?? [];
  return isUuid(a) && isUuid(b);
};

/**
 * Pairs that may be one person, newest first, at most `limit`. Those merged since, and those of which
 * one was erased, are no longer among them.
 */
export async function listDuplicates(
  store: Store,
  { workspaceId, leadId, since, until, after }: DuplicateFilter,
  limit: number,
): Promise<DuplicatePair[]> {
  interface Row {
    workspaceId: string;
    a: DuplicateSide;
    b: DuplicateSide;
    since: Date;
    micros: string;
  }
  const [, micros = null, afterA = null, afterB = null] = PAIR.exec(after ?? '') ?? [];
  const rows = await store.prisma.$queryRaw<Row[]>`
    WITH pair AS (
      -- Either side may stand for another lead by now, and two pairs be one.
      SELECT d.workspace_id, least(a.final, b.final) AS a, greatest(a.final, b.final) AS b,
             min(d.created_at) AS since
      FROM possible_duplicate d
      CROSS JOIN LATERAL (SELECT coalesce(max(l.merged_into::text)::uuid, d.lead_a) AS final
        FROM lead l WHERE l.workspace_id = d.workspace_id AND l.id = d.lead_a) a
      CROSS JOIN LATERAL (SELECT coalesce(max(l.merged_into::text)::uuid, d.lead_b) AS final
        FROM lead l WHERE l.workspace_id = d.workspace_id AND l.id = d.lead_b) b
      WHERE (${workspaceId ?? null}::uuid IS NULL OR d.workspace_id = ${workspaceId ?? null}::uuid)
        AND a.final <> b.final
        AND (${leadId ?? null}::uuid IS NULL OR ${leadId ?? null}::uuid IN (a.final, b.final))
      GROUP BY 1, 2, 3
    )
    SELECT pair.workspace_id AS "workspaceId", pair.since,
           (extract(epoch FROM pair.since) * 1000000)::bigint::text AS micros,
           jsonb_build_object('leadId', a.id, 'name', a.name, 'email', a.email,
             'telephone', a.telephone) AS a,
           jsonb_build_object('leadId', b.id, 'name', b.name, 'email', b.email,
             'telephone', b.telephone) AS b
    FROM pair
    JOIN lead a ON a.workspace_id = pair.workspace_id AND a.id = pair.a AND a.erased_order IS NULL
    JOIN lead b ON b.workspace_id = pair.workspace_id AND b.id = pair.b AND b.erased_order IS NULL
    WHERE (${since ?? null}::timestamptz IS NULL OR pair.since >= ${since ?? null}::timestamptz)
      AND (${until ?? null}::timestamptz IS NULL OR pair.since < ${until ?? null}::timestamptz)
      AND (${micros}::bigint IS NULL OR (-(extract(epoch FROM pair.since) * 1000000)::bigint, pair.a, pair.b)
        > (-${micros}::bigint, ${afterA}::uuid, ${afterB}::uuid))
    ORDER BY pair.since DESC, pair.a, pair.b LIMIT ${limit}`;
  return rows.map(({ micros: at, ...row }) => ({
    ...row,
    since: row.since.toISOString(),
    pair: `${at}_${row.a.leadId}_${row.b.leadId}`,
  }));
}
