import type { Store } from '../open-store.ts';
import type { HeldState } from './held-row.ts';

/**
 * Puts down what became of a held submission. What was released stays so; what was discarded can
 * still be released. Returns what it is now; null where there is none of this id.
 */
export async function decideHeld(
  store: Store,
  heldId: string,
  state: Exclude<HeldState, 'held'>,
): Promise<HeldState | null> {
  const [row] = await store.prisma.$queryRaw<{ state: HeldState }[]>`
    UPDATE held_submission
    SET decided_at = CASE WHEN state IN ('released', ${state}) THEN decided_at ELSE now() END,
        state = CASE WHEN state = 'released' THEN state ELSE ${state} END
    WHERE id = ${heldId}::uuid
    RETURNING state`;
  return row?.state ?? null;
}
