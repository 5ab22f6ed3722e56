import { open, readFile } from 'node:fs/promises';
import type { RedisConnection } from '@leadgate/boot';
import { forgetLeads, type Forgotten } from '@leadgate/intake';
import { eraseJobs } from '@leadgate/queue';
import {
  type ErasedCounts,
  erasePerson,
  type Erasure,
  type ErasureRequest,
  erasuresThere,
  identitiesOfHashes,
  keyCheckOf,
  matcherOf,
  type Store,
} from '@leadgate/store';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';

/** `ERASURE_KEY`, the same for worker, console and command line. */
export const erasureKeySetting = () =>
  Type.Optional(
    Type.String({
      description:
        'the secret under which identities of erased people are hashed, the same for workers, console and command line; without it nobody can be erased',
      examples: ['the output of: openssl rand -base64 32'],
      secret: true,
      minLength: 32,
    }),
  );

/** `ERASURE_LEDGER`, the same file for worker, console and command line. */
export const erasureLedgerSetting = () =>
  Type.Optional(
    Type.String({
      description:
        'a file outside of Postgres where erasures are written down, by keyed hashes, to be applied again when an older dump comes back',
      examples: ['/var/lib/leadgate/erasures.jsonl'],
    }),
  );

/** What of a person went, or would go, and what is left to say of it. */
export interface Erased {
  erasure: Erasure;
  counts: ErasedCounts & Omit<Forgotten, 'rejected' | 'identities'> & { failed: number };
  others: string[];
}

/**
 * Takes everything about a person out of Postgres and Redis. What waits in the queue or a spool is
 * dropped by the worker that comes to it. `record` is awaited before anything is committed. When it
 * rejects after that, the same again finishes it; `dryRun` only counts.
 */
export async function eraseEverywhere(
  { store, redis }: { store: Store; redis: RedisConnection },
  request: ErasureRequest,
  { dryRun, record }: { dryRun: boolean; record: (erasure: Erasure) => Promise<void> },
): Promise<Erased> {
  const { erasureKey } = store;
  if (erasureKey === null) throw new TypeError('nobody can be erased without a key');
  const { workspaceId } = request;
  const { erasure, counts, others } = await erasePerson(store, request, { dryRun, record });
  const isTheirs = await matcherOf(store, erasureKey, erasure);
  const isOfThem = (sent: { workspaceId: string; stamp: number }): boolean =>
    sent.workspaceId === workspaceId && isTheirs(sent, sent.stamp);
  const { records, rejected } = await forgetLeads(
    redis,
    { workspaceId, leadIds: [erasure.leadId, ...erasure.aliases], isTheirs: isOfThem },
    { dryRun },
  );
  const failed = await eraseJobs(redis, isOfThem, { dryRun });
  return {
    erasure,
    counts: { ...counts, rejected: counts.rejected + rejected, records, failed },
    others,
  };
}

/** A line of the ledger. It holds no identity: only keyed hashes and ids. */
const Line = Compile(
  Type.Object({
    v: Type.Literal(1),
    workspaceId: Type.String(),
    leadId: Type.String(),
    aliases: Type.Array(Type.String()),
    hashes: Type.Array(Type.String({ pattern: '^[0-9a-f]{64}$' })),
    order: Type.Integer(),
    reason: Type.String(),
    erasedBy: Type.String(),
    erasedAt: Type.String(),
    keyCheck: Type.String(),
  }),
);

/** The ledger holds what this version cannot read, or what was written under another key. */
export class LedgerError extends Error {
  override readonly name = 'LedgerError';
}

/** Writes an erasure at the end of the ledger. Resolves once it is on disk. */
export async function appendErasure(path: string, erasure: Erasure): Promise<void> {
  const line = JSON.stringify({ v: 1, ...erasure, erasedAt: erasure.erasedAt.toISOString() });
  const file = await open(path, 'a', 0o600);
  try {
    // In front: a line that a crash cut off stays one line by itself.
    await file.write(`\n${line}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * The erasures of a ledger, in the order they were written in; none if there is no such file. A line
 * that was cut off belongs to an erasure that did not happen, and is left out. Throws a LedgerError on
 * one that is whole and is no erasure.
 */
async function readErasures(path: string): Promise<Erasure[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  });
  return text.split('\n').flatMap((line, n) => {
    if (line.trim() === '') return [];
    const value = parsed(line);
    if (value === undefined) return [];
    if (!Line.Check(value))
      throw new LedgerError(
        `line ${n + 1} of the ledger of erasures is none that this version knows`,
      );
    const { v: _, erasedAt, ...rest } = value;
    return { ...rest, erasedAt: new Date(erasedAt) };
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * Erases again what the ledger says and the database does not know: an older dump came back. Also
 * finds the person under an id that the ledger does not name, by the hashes of all identities; who is
 * back since the erasure is left alone. Throws a LedgerError, before it erases anything, when the
 * ledger was written under another key.
 */
export async function applyErasures(
  { store, redis }: { store: Store; redis: RedisConnection },
  path: string,
): Promise<{ known: number; applied: number }> {
  const all = await readErasures(path);
  const there = await erasuresThere(store, all);
  const missing = all.filter((erasure) => !there.has(erasure));
  const check = store.erasureKey && keyCheckOf(store.erasureKey);
  if (missing.some(({ keyCheck }) => keyCheck !== check))
    throw new LedgerError('the ledger of erasures was written under another ERASURE_KEY');
  for (const workspaceId of new Set(missing.map((erasure) => erasure.workspaceId))) {
    const ofIt = missing.filter((erasure) => erasure.workspaceId === workspaceId);
    const hashes = new Set(ofIt.flatMap((erasure) => erasure.hashes));
    const identityOf = await identitiesOfHashes(store, workspaceId, hashes);
    for (const erasure of ofIt) {
      const { leadId, aliases, ...rest } = erasure;
      const identities = erasure.hashes.flatMap((hash) => {
        const known = identityOf.get(hash);
        return known === undefined || known.creatorOrder > erasure.order ? [] : known.identity;
      });
      await eraseEverywhere(
        { store, redis },
        { ...rest, leadIds: [leadId, ...aliases], identities, offeredLeadId: leadId },
        { dryRun: false, record: () => Promise.resolve() },
      );
    }
  }
  return { known: all.length - missing.length, applied: missing.length };
}
