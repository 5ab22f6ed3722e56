import { isUuid } from '../display-text.ts';
import type { Store } from '../open-store.ts';
import type { Link } from './link.ts';
import { linkParts, readLink } from './read-link.ts';

/** The link of a code, old and expired ones included, or of an id. Null where there is none. */
export async function findLink(store: Store, codeOrId: string): Promise<Link | null> {
  const row = await store.prisma.captureLink.findFirst({
    where: isUuid(codeOrId) ? { id: codeOrId } : { codes: { some: { code: codeOrId } } },
    include: linkParts,
  });
  return row === null ? null : readLink(row);
}
