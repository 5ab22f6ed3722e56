import type { Store } from '../open-store.ts';
import type { Link } from './link.ts';
import { linkParts, readLink } from './read-link.ts';

/** The links of a workspace, or of all, closed ones included, oldest first. */
export async function listLinks(store: Store, workspaceId?: string): Promise<Link[]> {
  const rows = await store.prisma.captureLink.findMany({
    ...(workspaceId !== undefined && { where: { workspaceId } }),
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    include: linkParts,
  });
  return rows.map(readLink);
}
