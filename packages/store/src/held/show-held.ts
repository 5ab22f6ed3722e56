import type { Submission } from '@leadgate/contract';
import type { Store } from '../open-store.ts';
import {
  heldColumns,
  heldJoins,
  readHeldSummary,
  type HeldRow,
  type HeldSummary,
} from './held-row.ts';

/** A held submission with all that was kept of it. */
export interface HeldDetails extends HeldSummary {
  submission: Submission;
}

/** One held submission, decided on or not; null where there is none of this id. */
export async function showHeld(store: Store, heldId: string): Promise<HeldDetails | null> {
  const [row] = await store.prisma.$queryRaw<HeldRow[]>`
    SELECT ${heldColumns} FROM held_submission h ${heldJoins} WHERE h.id = ${heldId}::uuid`;
  return row === undefined ? null : { ...readHeldSummary(row), submission: row.content };
}
