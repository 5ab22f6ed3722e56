import type { BodyType } from '@leadgate/contract';
import type { Store } from '../open-store.ts';
import { storableTexts } from '../storable-text.ts';

/**
 * Keeps a mended body beside the one that was sent. False where there is none of this id that is
 * still to be replayed.
 */
export async function keepMended(
  store: Store,
  rejectedId: string,
  mended: { body: string; bodyType: BodyType },
): Promise<boolean> {
  const { body, bodyType } = storableTexts(mended);
  const changed = await store.prisma.$executeRaw`
    UPDATE rejected_submission
    SET mended_body = ${body}, mended_body_type = ${bodyType}, mended_at = now()
    WHERE id = ${rejectedId}::uuid AND submission_id IS NULL`;
  return changed === 1;
}

/** Writes that a refused body became this submission. */
export async function markReplayed(
  store: Store,
  rejectedId: string,
  submissionId: string,
): Promise<void> {
  await store.prisma.$executeRaw`
    UPDATE rejected_submission SET submission_id = ${submissionId}::uuid, replayed_at = now()
    WHERE id = ${rejectedId}::uuid AND submission_id IS NULL`;
}
