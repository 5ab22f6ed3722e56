import type { BodyType } from '@leadgate/contract';
import type { Store } from '../open-store.ts';
import {
  readRejectedSummary,
  rejectedColumns,
  rejectedJoins,
  type RejectedRow,
  type RejectedSummary,
} from './rejected-row.ts';

/** A refused body with all that was kept of it. */
export interface RejectedDetails extends RejectedSummary {
  /** When it was refused: microseconds since 1970. */
  stamp: number;
  /** As sent. */
  body: string;
  /** As an operator mended it. */
  mended: { body: string; bodyType: BodyType } | null;
  page: string | null;
  userAgent: string | null;
  /** The sender's network address. */
  address: string | null;
}

type DetailsRow = RejectedRow &
  Pick<RejectedDetails, 'body' | 'page' | 'userAgent' | 'address'> & {
    mendedBody: string | null;
    mendedBodyType: BodyType | null;
  };

/** One refused body; null where there is none of this id. */
export async function showRejected(
  store: Store,
  rejectedId: string,
): Promise<RejectedDetails | null> {
  const [row] = await store.prisma.$queryRaw<DetailsRow[]>`
    SELECT ${rejectedColumns}, r.body, r.page, r.user_agent AS "userAgent", r.address,
           r.mended_body AS "mendedBody", r.mended_body_type AS "mendedBodyType"
    FROM rejected_submission r ${rejectedJoins}
    WHERE r.id = ${rejectedId}::uuid`;
  if (row === undefined) return null;
  const { mendedBody, mendedBodyType, body, page, userAgent, address, ...summary } = row;
  return {
    ...readRejectedSummary(summary),
    stamp: row.stamp,
    body,
    mended:
      mendedBody === null || mendedBodyType === null
        ? null
        : { body: mendedBody, bodyType: mendedBodyType },
    page,
    userAgent,
    address,
  };
}
