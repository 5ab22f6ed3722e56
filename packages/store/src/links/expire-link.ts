import type { Store } from '../open-store.ts';
import { findLink } from './find-link.ts';
import type { Link } from './link.ts';

/**
 * Ends a link at a time, at once (`'now'`), or takes its end away (null). Codes that a rotation
 * replaced never live longer by it. Null where there is no such link.
 */
export async function expireLink(
  store: Store,
  linkId: string,
  at: Date | 'now' | null,
): Promise<Link | null> {
  const end = at === 'now' ? null : at;
  await store.prisma.$executeRaw`
    WITH asked AS (
      SELECT CASE WHEN ${at === 'now'} THEN now() ELSE ${end}::timestamptz END AS end_at
    ), current AS (
      SELECT code FROM capture_code WHERE link_id = ${linkId}::uuid
      ORDER BY created_at DESC, code LIMIT 1
    )
    UPDATE capture_code k
    SET expires_at = CASE WHEN k.code = current.code THEN asked.end_at
                          ELSE least(k.expires_at, asked.end_at) END
    FROM asked, current WHERE k.link_id = ${linkId}::uuid`;
  return findLink(store, linkId);
}
