import {
  contentColumns,
  type LeadContent,
  type LeadContentRow,
  readLeadContent,
} from './deliveries.ts';
import { fieldsOfWorkspaces } from './fields.ts';
import type { Store } from './open-store.ts';
import { deleteInBatches, isUuid, NIL_UUID } from './statements.ts';

export type LeadChange =
  /** `data`: as in a message to an endpoint. */
  | { kind: 'lead'; leadId: string; version: number; data: LeadContent }
  /** The id stands for another lead. */
  | { kind: 'merged'; leadId: string; version: number; mergedInto: string }
  | { kind: 'erased'; leadId: string; version: number };

export interface ChangesPage {
  changes: LeadChange[];
  /** To go on after. */
  cursor: string;
  /** Whether there is more by now; else ask again later. */
  more: boolean;
  /** The cursor that was given leads nowhere any more: this is the beginning of all leads. */
  restarted: boolean;
}

/** A cursor of another workspace, or none of these. */
export class CursorError extends Error {
  override readonly name = 'CursorError';
}

/**
 * How far a reader is. First all leads are read by their ids, `allAfter`; then what changed since that began,
 * by transaction and lead: all up to `xid` and `leadId` was given.
 */
interface Place {
  workspaceId: string;
  /** Of which history of which database the transaction is: after a restore they may be given out anew. */
  history: string;
  /** When the last change was written that was read, or its reader was at the end. Milliseconds since 1970, of Postgres. */
  at: number;
  xid: bigint;
  leadId: string;
  allAfter: string | null;
}

const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const DAY_MS = 86_400_000;
/** For how long a cursor is good. */
const CURSOR_MS = 14 * DAY_MS;
/** Longer than cursors are good, by more than any transaction takes. */
const KEPT = '15 days';

/**
 * What changed in a workspace after a cursor, at most `limit` of it: every lead once for each transaction that
 * changed it, as it stands now, in the order in which these began to write. None is given before all that began
 * earlier have ended, so that none comes in between later. Without a cursor all leads are read, and then
 * what changed since.
 *
 * Throws a CursorError.
 */
export async function leadChanges(
  store: Store,
  workspaceId: string,
  { after, limit }: { after: string | null; limit: number },
): Promise<ChangesPage> {
  const given = after === null ? null : readCursor(after, workspaceId);
  const { horizon, ...now } = await standing(store);
  const isGood = given !== null && given.history === now.history && now.at - given.at < CURSOR_MS;
  const from: Place = isGood
    ? given
    : { ...{ workspaceId, ...now, xid: horizon - 1n }, leadId: LAST_UUID, allAfter: NIL_UUID };
  const restarted = given !== null && !isGood;
  const { ids, next, more } =
    from.allAfter === null
      ? await changedIds(store, from, { limit, now: now.at })
      : await allIds(store, { ...from, allAfter: from.allAfter }, limit);
  const changes = await readChanges(store, workspaceId, ids);
  return { changes, cursor: writeCursor(next), more, restarted };
}

/** Which history of which database answers, its time, and the first transaction that may still be under way. */
async function standing(
  store: Store,
): Promise<Pick<Place, 'history' | 'at'> & { horizon: bigint }> {
  const [row] = await store.prisma.$queryRaw<[{ history: string; at: number; horizon: bigint }]>`
    SELECT (SELECT system_identifier FROM pg_control_system()) || '.'
             -- Of a server that was promoted, or restored to an earlier time, another one.
             || left(pg_walfile_name(pg_current_wal_lsn()), 8) AS history,
           floor(extract(epoch FROM now()) * 1000)::float8 AS at,
           pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon`;
  return row;
}

interface Step {
  ids: string[];
  next: Place;
  more: boolean;
}

async function allIds(
  store: Store,
  place: Place & { allAfter: string },
  limit: number,
): Promise<Step> {
  const { workspaceId, allAfter } = place;
  // A row of version 0 was no lead that anybody was told of.
  const rows = await store.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM lead
    WHERE workspace_id = ${workspaceId}::uuid AND id > ${allAfter}::uuid AND version > 0
    ORDER BY id LIMIT ${limit}::int`;
  const ids = rows.map(({ id }) => id);
  const isLast = ids.length < limit;
  // What changed since the beginning is there to be read, if only as nothing.
  return { ids, next: { ...place, allAfter: isLast ? null : (ids.at(-1) ?? null) }, more: true };
}

async function changedIds(
  store: Store,
  place: Place,
  { limit, now }: { limit: number; now: number },
): Promise<Step> {
  const { workspaceId, xid, leadId } = place;
  // One statement: its rows and its horizon are of one snapshot.
  const [row] = await store.prisma.$queryRaw<
    [{ horizon: bigint; found: { xid: string; id: string; at: number }[] }]
  >`
    WITH found AS (
      SELECT c.xid, changed.id, floor(extract(epoch FROM c.at) * 1000) AS at
      FROM lead_change c CROSS JOIN LATERAL unnest(c.lead_ids) AS changed (id)
      WHERE c.workspace_id = ${workspaceId}::uuid AND c.xid >= ${xid}
        AND c.xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
        AND (c.xid > ${xid} OR changed.id > ${leadId}::uuid)
      ORDER BY c.xid, changed.id LIMIT ${limit}::int
    )
    SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon,
           (SELECT coalesce(jsonb_agg(jsonb_build_object('xid', xid::text, 'id', id, 'at', at)
                                      ORDER BY xid, id), '[]') FROM found) AS found`;
  const last = row.found.at(-1);
  const isFull = row.found.length === limit;
  const reached =
    isFull && last !== undefined
      ? { xid: BigInt(last.xid), leadId: last.id, at: last.at }
      : { xid: row.horizon - 1n, leadId: LAST_UUID, at: now };
  return { ids: row.found.map(({ id }) => id), next: { ...place, ...reached }, more: isFull };
}

/** Leads as they stand, in the order of the ids; one that is named twice stands at the first. */
async function readChanges(
  store: Store,
  workspaceId: string,
  ids: readonly string[],
): Promise<LeadChange[]> {
  if (ids.length === 0) return [];
  const rows = await store.prisma.$queryRaw<LeadContentRow[]>`
    SELECT ${contentColumns} FROM lead JOIN workspace w ON w.id = lead.workspace_id
    WHERE lead.workspace_id = ${workspaceId}::uuid AND lead.id = ANY (${ids}::uuid[])`;
  const fields = await fieldsOfWorkspaces(store.prisma, [workspaceId]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return [...new Set(ids)].flatMap((id): LeadChange[] => {
    const row = byId.get(id);
    if (row === undefined) return [];
    const { version, mergedInto, erasedOrder } = row;
    const of = { leadId: id, version };
    if (mergedInto !== null) return [{ kind: 'merged', ...of, mergedInto }];
    if (erasedOrder !== null) return [{ kind: 'erased', ...of }];
    return [{ kind: 'lead', ...of, data: readLeadContent(row, fields) }];
  });
}

/** Lets go of what no cursor leads to any more. Returns how many rows. */
export async function sweepChanges(store: Store): Promise<number> {
  return deleteInBatches(
    (limit) => store.prisma.$executeRaw`
      DELETE FROM lead_change WHERE (workspace_id, xid) IN (
        SELECT workspace_id, xid FROM lead_change WHERE at < now() - ${KEPT}::interval
        LIMIT ${limit}::int)`,
  );
}

function writeCursor({ workspaceId, history, at, xid, leadId, allAfter }: Place): string {
  const parts = [workspaceId, history, at, xid, leadId, allAfter ?? ''];
  return Buffer.from(parts.join(' '), 'utf8').toString('base64url');
}

function readCursor(text: string, workspaceId: string): Place {
  const parts = Buffer.from(text, 'base64url').toString('utf8').split(' ');
  const [of = '', history = '', at = '', xid = '', leadId = '', allAfter = ''] = parts;
  const isWhole =
    [of, leadId].every(isUuid) &&
    (allAfter === '' || isUuid(allAfter)) &&
    /^\d{1,20}\.[0-9A-F]{8}$/.test(history) &&
    [at, xid].every((number) => /^\d{1,18}$/.test(number));
  if (!isWhole) throw new CursorError('This is no cursor');
  if (of !== workspaceId) throw new CursorError('The cursor is of another workspace');
  return {
    ...{ workspaceId, history, at: Number(at), xid: BigInt(xid), leadId },
    allAfter: allAfter === '' ? null : allAfter,
  };
}
