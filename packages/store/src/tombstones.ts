import { contactsIn } from '@leadgate/leads';
import { createHmac, hkdfSync } from 'node:crypto';
import { withoutValues } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import type { Statements } from './statements.ts';

/** What identities of erased people are hashed under: derived from ERASURE_KEY. */
export function erasureKeyOf(secret: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', 'leadgate erasure', 32));
}

/** HMAC-SHA-256 of an identity key. The same person has another one in each workspace. */
export function hashIdentity(key: Uint8Array, workspaceId: string, identity: string): string {
  return createHmac('sha256', key).update(`${workspaceId}\0${identity}`).digest('hex');
}

/** Tells one key from another, and nothing of either. */
export function keyCheckOf(key: Uint8Array): string {
  return createHmac('sha256', key).update('leadgate erasure key').digest('hex').slice(0, 16);
}

/** What stays of an identity of an erased person. */
export interface Tombstone {
  leadId: string;
  /** Microseconds since 1970: what was sent up to then is dropped. */
  erasedOrder: number;
}

interface Asked {
  workspaceId: string;
  /** An identity key. */
  value: string;
}

/** The latest tombstone of identities, by workspace and identity; of those that have none, none. */
export async function readTombstones(
  db: Pick<Statements, '$queryRaw'>,
  key: Uint8Array | null,
  asked: readonly Asked[],
): Promise<(asked: Asked) => Tombstone | undefined> {
  if (key === null || asked.length === 0) return () => undefined;
  const hashOf = ({ workspaceId, value }: Asked) => hashIdentity(key, workspaceId, value);
  const rows = await db.$queryRaw<(Tombstone & { hash: string })[]>`
    SELECT asked.hash, found.lead_id AS "leadId", found.erased_order::float8 AS "erasedOrder"
    FROM unnest(${asked.map(({ workspaceId }) => workspaceId)}::uuid[], ${asked.map(hashOf)}::text[])
      AS asked (workspace_id, hash),
      LATERAL (SELECT lead_id, erased_order FROM tombstone t
               WHERE t.workspace_id = asked.workspace_id
                 AND t.identity_hash = decode(asked.hash, 'hex')
               ORDER BY erased_order DESC LIMIT 1) AS found`;
  const found = new Map(rows.map(({ hash, ...tombstone }) => [hash, tombstone]));
  return found.size === 0 ? () => undefined : (one) => found.get(hashOf(one));
}

/** Something that was kept of a post, and when it was sent. */
export interface Kept {
  workspaceId: string;
  /** Microseconds since 1970. */
  stamp: number;
  /** All that it says, as a JSON value. */
  content: unknown;
}

/** Tables of what was sent and is not applied. An erasure, and a removal, waits for those who write to them. */
export type KeptTable = 'held_submission' | 'rejected_submission' | 'discarded_submission';

/**
 * Stores what was kept, except what names a person who was erased since it was sent, and what is of a workspace
 * that was removed. The lock comes first: an erasure looks through the table once those who may not have seen its
 * tombstones are done. Rejects with a StoreError.
 */
export async function keepUnlessErased<T extends Kept>(
  { prisma, erasureKey }: Store,
  table: KeptTable,
  all: readonly T[],
  insert: (db: Pick<Statements, '$executeRaw'>, kept: readonly T[]) => Promise<unknown>,
): Promise<void> {
  const keep = async (tx: Statements): Promise<void> => {
    await tx.$executeRaw`LOCK TABLE ${Prisma.raw(table)} IN ROW EXCLUSIVE MODE`;
    const removed = await removedAmong(
      tx,
      all.map(({ workspaceId }) => workspaceId),
    );
    const there = all.filter(({ workspaceId }) => !removed.has(workspaceId));
    const kept = erasureKey === null ? there : await withoutErased(tx, erasureKey, there);
    if (kept.length > 0) await insert(tx, kept);
  };
  try {
    await prisma.$transaction(keep);
  } catch (error) {
    throw withoutValues(error);
  }
}

/** Those of the workspaces that were removed, or are being removed. */
export async function removedAmong(
  db: Pick<Statements, '$queryRaw'>,
  workspaceIds: readonly string[],
): Promise<Set<string>> {
  const rows = await db.$queryRaw<{ id: string }[]>`
    SELECT id FROM removed_workspace WHERE id = ANY (${[...new Set(workspaceIds)]}::uuid[])`;
  return new Set(rows.map(({ id }) => id));
}

async function withoutErased<T extends Kept>(
  db: Pick<Statements, '$queryRaw'>,
  key: Uint8Array,
  all: readonly T[],
): Promise<readonly T[]> {
  const countries = await db.$queryRaw<{ id: string; country: string }[]>`
    SELECT id, country FROM workspace w
    WHERE id = ANY (${all.map(({ workspaceId }) => workspaceId)}::uuid[])
      AND EXISTS (SELECT FROM tombstone t WHERE t.workspace_id = w.id)`;
  if (countries.length === 0) return all;
  const countryOf = new Map(countries.map(({ id, country }) => [id, country]));
  const named = all.map(({ workspaceId, content }) => {
    const country = countryOf.get(workspaceId);
    const identities = country === undefined ? [] : contactsIn(content, country);
    return identities.map((value) => ({ workspaceId, value }));
  });
  const tombstoneOf = await readTombstones(db, key, named.flat());
  return all.filter(
    ({ stamp }, n) =>
      !named[n]?.some((one) => stamp <= (tombstoneOf(one)?.erasedOrder ?? -Infinity)),
  );
}

/**
 * Whether tombstones can be read: `missing` and `another`: there are some, and no key, or it is not
 * the one that they were made under.
 */
export async function erasureKeyState({
  prisma,
  erasureKey,
}: Pick<Store, 'prisma' | 'erasureKey'>): Promise<'fits' | 'missing' | 'another'> {
  const rows = await prisma.erasure.findMany({
    distinct: ['keyCheck'],
    select: { keyCheck: true },
  });
  if (rows.length === 0) return 'fits';
  if (erasureKey === null) return 'missing';
  const check = keyCheckOf(erasureKey);
  return rows.every(({ keyCheck }) => keyCheck === check) ? 'fits' : 'another';
}
