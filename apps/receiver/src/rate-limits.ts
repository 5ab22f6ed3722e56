import type { LimitUse, Limits } from '@leadgate/intake';

/** One limit that a request falls under: within a workspace, or in this process only. */
export interface CountedUse extends LimitUse {
  workspaceId: string | null;
}

/**
 * Counts a request against a limit: the seconds to wait where it is exceeded, else null. Counted is
 * the local estimate, which reservations keep close to the exact counts in Redis: a flood is answered
 * without asking Redis, and what is let through the reservation counts exactly.
 */
export function secondsToWait(
  limits: Pick<Limits, 'count'>,
  { workspaceId, key, max }: CountedUse,
): number | null {
  const { current, ttlMs } = limits.count(workspaceId, key, max);
  return current > max ? Math.ceil(ttlMs / 1_000) : null;
}

/**
 * Posts for one that may bring together what was known apart: an honest campaign has one in fifty of
 * them, or fewer, and who asks whether people are known has nothing else (decision 36).
 */
const POSTS_FOR_A_JOIN = 50;

/** Of an address: its limit of posts that bring identities together, from that of posts. */
export function joinLimitOf({ key, max }: LimitUse): LimitUse {
  return { key: `join:${key}`, max: Math.ceil(max / POSTS_FOR_A_JOIN) };
}
