import type { Store } from '../open-store.ts';
import { findLink } from './find-link.ts';
import type { Link } from './link.ts';

/** Opens or disables a link. Null where there is no such link. */
export async function setLinkState(
  store: Store,
  linkId: string,
  state: Link['state'],
): Promise<Link | null> {
  await store.prisma.captureLink.updateMany({
    where: { id: linkId, state: { not: state } },
    data: { state },
  });
  return findLink(store, linkId);
}
