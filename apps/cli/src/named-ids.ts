import type { Context } from './command.ts';
import { findLinkNamed } from './find-link.ts';
import { findWorkspace } from './find-workspace.ts';

/** The ids of what the options `--workspace` and `--link` name. */
export async function namedIds(
  { session }: Context,
  { workspace, link }: { workspace?: string; link?: string },
): Promise<{ workspaceId?: string; linkId?: string }> {
  const store = session.store();
  return {
    ...(workspace !== undefined && { workspaceId: (await findWorkspace(store, workspace)).id }),
    ...(link !== undefined && { linkId: (await findLinkNamed(store, link)).id }),
  };
}
