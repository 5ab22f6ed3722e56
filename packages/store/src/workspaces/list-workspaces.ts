import type { Store } from '../open-store.ts';
import type { Workspace } from './workspace.ts';

/** Every workspace, by name. */
export function listWorkspaces(store: Store): Promise<Workspace[]> {
  return store.prisma.workspace.findMany({ orderBy: { name: 'asc' } });
}
