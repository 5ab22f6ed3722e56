import type { RedisConnection } from '@leadgate/boot';
import { forgetLeads, type Forgotten } from '@leadgate/intake';
import { eraseJobs } from '@leadgate/queue';
import {
  type ErasedCounts,
  erasePerson,
  type Erasure,
  type ErasureRequest,
  matcherOf,
  type Store,
} from '@leadgate/store';
import { Type } from 'typebox';

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
