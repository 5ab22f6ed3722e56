import type { Submission } from '@leadgate/contract';
import { readTombstones } from '../tombstones.ts';
import { type Known, successorOf } from './plan-workspace.ts';
import type { Statements } from '../statements.ts';

/** What is asked about: a lead id or a key, in a workspace. */
interface Asked {
  workspaceId: string;
  value: string;
}

interface FoundRow {
  workspaceId: string;
  /** The identity's key; null for the row of a lead. */
  key: string | null;
  leadId: string;
  mergedInto: string | null;
  erasedOrder: number | null;
}

/**
 * What Postgres holds of the leads and keys that the submissions name, and of the leads those lead
 * to: by workspace id. Read without locks: it is a hint until the rows are locked. One statement
 * where reservations and Postgres agree. `isLate`: which may be of a person who was erased before they were
 * reserved.
 */
export async function readKnown(
  tx: Statements,
  submissions: readonly Submission[],
  erasureKey: Uint8Array | null,
  isLate = mayBeLate,
): Promise<Map<string, Known>> {
  const known = new Map<string, Known>(
    submissions.map(({ workspaceId }) => [
      workspaceId,
      { leads: new Map(), owners: new Map(), tombstones: new Map() },
    ]),
  );
  const asked = new Set<string>();
  const notAsked = ({ workspaceId, value }: Asked) => {
    const before = asked.size;
    return asked.add(`${workspaceId} ${value}`).size > before;
  };
  let keys = submissions.flatMap(keysOf).filter(notAsked);
  let leads = submissions.flatMap(leadsOf).filter(notAsked);
  while (keys.length + leads.length > 0) {
    const rows = await find(tx, keys, leads);
    for (const row of rows) remember(known, row);
    keys = [];
    leads = rows.flatMap(followed).filter(notAsked);
  }
  const late = submissions.filter(isLate).flatMap(keysOf);
  const tombstoneOf = await readTombstones(tx, erasureKey, late);
  for (const asked of late) {
    const tombstone = tombstoneOf(asked);
    if (tombstone !== undefined)
      known.get(asked.workspaceId)?.tombstones.set(asked.value, tombstone);
  }
  return known;
}

/**
 * Whether it can be of a person who was erased before it was reserved. What was reserved before the
 * erasure is for the erased lead, and what was reserved when it was sent is from after it.
 */
const mayBeLate = ({ stamp, order, source }: Submission): boolean =>
  stamp < order || source === 'import';

/**
 * LATERAL with LIMIT is one index look-up a key. As plain joins, this reads the whole identity table
 * until it is some hundred thousand rows long.
 */
function find(tx: Statements, keys: Asked[], leads: Asked[]): Promise<FoundRow[]> {
  return tx.$queryRaw<FoundRow[]>`
    SELECT asked.workspace_id AS "workspaceId", asked.key, found.lead_id AS "leadId",
           NULL::uuid AS "mergedInto", NULL::float8 AS "erasedOrder"
    FROM unnest(${keys.map((key) => key.workspaceId)}::uuid[],
                ${keys.map((key) => key.value)}::text[]) AS asked (workspace_id, key),
      LATERAL (SELECT lead_id FROM identity
               WHERE identity.workspace_id = asked.workspace_id AND identity.key = asked.key
               LIMIT 1) AS found
    UNION ALL
    SELECT asked.workspace_id, NULL, asked.id, found.merged_into, found.erased_order::float8
    FROM unnest(${leads.map((lead) => lead.workspaceId)}::uuid[],
                ${leads.map((lead) => lead.value)}::uuid[]) AS asked (workspace_id, id),
      LATERAL (SELECT merged_into, erased_order FROM lead
               WHERE lead.workspace_id = asked.workspace_id AND lead.id = asked.id
               LIMIT 1) AS found`;
}

function remember(known: Map<string, Known>, row: FoundRow): void {
  const { key, leadId, mergedInto, erasedOrder } = row;
  const workspace = known.get(row.workspaceId);
  if (key === null) workspace?.leads.set(leadId, { mergedInto, erasedOrder });
  else workspace?.owners.set(key, leadId);
}

/** The lead that a found row leads on to: an owner, what an alias stands for, a successor. */
function followed({ workspaceId, key, leadId, mergedInto, erasedOrder }: FoundRow): Asked[] {
  if (key !== null) return [{ workspaceId, value: leadId }];
  if (mergedInto !== null) return [{ workspaceId, value: mergedInto }];
  return erasedOrder === null ? [] : [{ workspaceId, value: successorOf(leadId) }];
}

function keysOf({ workspaceId, leadId, identities }: Submission): Asked[] {
  return identities
    .filter(({ owner }) => owner === leadId)
    .map(({ key }) => ({ workspaceId, value: key }));
}

function leadsOf({ workspaceId, leadId, answeredLeadId, identities }: Submission): Asked[] {
  return [leadId, answeredLeadId, ...identities.map(({ owner }) => owner)]
    .filter((id) => typeof id === 'string')
    .map((id) => ({ workspaceId, value: id }));
}
