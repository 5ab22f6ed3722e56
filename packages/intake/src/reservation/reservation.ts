import type { HeldReason, OwnedIdentity } from '@leadgate/contract';

/** What a use of a limit counts as at most. */
export const MAX_WEIGHT = 64;

/** A use of something that has a limit a minute. */
export interface LimitUse {
  /** `link:<id>`, `address:<hash>`: never an address itself, as it stands in Redis. */
  key: string;
  max: number;
  /** How many uses it counts as, 1 to `MAX_WEIGHT`; one without it. It passes while any is left. */
  weight?: number;
}

/** What a submission asks of Redis before it is enqueued. Ids are UUIDs in lower case. */
export interface ReservationRequest {
  submissionId: string;
  workspaceId: string;
  linkId: string;
  /** The lead it is for if none of its identities is known. */
  offeredLeadId: string;
  /** The sender's id of it (`externalKey`), if it has one, then the email. */
  identityKeys: readonly string[];
  /** It waits for an operator: it gets an order, is of the offered lead, and claims no identity. */
  held?: HeldReason;
  /** `key` is per link; `bodyHash` tells another body under the same key. */
  idempotency?: { key: string; bodyHash: string };
  limits: readonly LimitUse[];
  /**
   * Of the source: counted when the identities are not all of one lead before this request, so that
   * their meeting tells who is known. Over it, only the first identity counts (decision 36).
   */
  joinLimit?: LimitUse;
}

/**
 * - `reserved`: the lead it is for, who owns each of its keys, and its order (microseconds).
 *   `isKnown`: its sender's id of it came before; nothing was claimed, and it changes nothing.
 *   `joinLimited`: all but the first of them were left out, as the source was over its `joinLimit`.
 * - `repeated`: this idempotency key came before with the same body, as the submission named here.
 *   Whoever reserved that may have died before enqueuing it: enqueue it again, then answer. `held`:
 *   how it was judged then, which is how it stays, whatever this request says.
 * - `key-reused`: this idempotency key came before with another body.
 * - `limited`: over a limit.
 * - `behind`: Redis does not hold all of the workspace. Nothing was claimed; a refill was asked for.
 */
export type Reservation =
  | {
      kind: 'reserved';
      leadId: string;
      identities: OwnedIdentity[];
      order: number;
      joinLimited?: true;
      isKnown?: true;
    }
  | {
      kind: 'repeated';
      submissionId: string;
      leadId: string;
      identities: OwnedIdentity[];
      order: number;
      held?: HeldReason;
    }
  | { kind: 'key-reused' }
  | { kind: 'limited'; retryAfterSeconds: number }
  | { kind: 'behind' };

/** A lead has at most this many identities; further ones are left unowned. */
export const MAX_IDENTITIES = 50;

/** As many a lead is created with without being counted: most never have more. */
export const IDENTITIES_AT_CREATION = 2;

/**
 * The reservation failed as a whole: Redis did not answer, or refused. Whether it ran is unknown.
 * Names no value of a request. `code` is the first word of what Redis said (OOM, READONLY, …).
 */
export class ReservationError extends Error {
  override readonly name = 'ReservationError';
  readonly code: string | undefined;

  constructor(cause: unknown) {
    const text = cause instanceof Error ? cause.message : 'unknown error';
    super(`the reservation failed: ${text.slice(0, 200)}`);
    this.code = /^[A-Z]+(?= )/.exec(text)?.[0];
  }
}
