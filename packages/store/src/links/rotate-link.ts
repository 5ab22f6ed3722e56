import type { Store } from '../open-store.ts';
import { captureCode } from './capture-code.ts';
import { findLink } from './find-link.ts';
import type { Link } from './link.ts';

export type LinkRotation =
  { kind: 'rotated'; link: Link } | { kind: 'expired'; link: Link } | { kind: 'unknown-link' };

/**
 * Gives a link a new code at once. Its other codes end after the overlap, or earlier where they
 * already had an end; the new code ends when the link was to end. An expired link is not rotated.
 */
export async function rotateLink(
  store: Store,
  linkId: string,
  overlapSeconds: number,
): Promise<LinkRotation> {
  const kind = await store.prisma.$transaction(async (tx) => {
    // Two rotations at once would each leave the other's code without an end.
    await tx.$queryRaw`SELECT 1 FROM capture_link WHERE id = ${linkId}::uuid FOR NO KEY UPDATE`;
    const [current] = await tx.$queryRaw<{ expired: boolean }[]>`
      SELECT coalesce(expires_at <= now(), false) AS expired FROM capture_code
      WHERE link_id = ${linkId}::uuid ORDER BY created_at DESC, code LIMIT 1`;
    if (current === undefined) return 'unknown-link' as const;
    if (current.expired) return 'expired' as const;
    const code = captureCode();
    // The newest code is the current one: never let a clock that stepped back say otherwise.
    await tx.$executeRaw`
      INSERT INTO capture_code (code, link_id, expires_at, created_at)
      SELECT ${code}, link_id, expires_at, greatest(now(), created_at + interval '1 microsecond')
      FROM capture_code WHERE link_id = ${linkId}::uuid ORDER BY created_at DESC, code LIMIT 1`;
    await tx.$executeRaw`
      UPDATE capture_code
      SET expires_at = least(expires_at, now() + make_interval(secs => ${overlapSeconds}::float8))
      WHERE link_id = ${linkId}::uuid AND code <> ${code}`;
    return 'rotated' as const;
  });
  const link = await findLink(store, linkId);
  return kind === 'unknown-link' || link === null ? { kind: 'unknown-link' } : { kind, link };
}
