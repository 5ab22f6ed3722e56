import {
  findLink,
  isUuid,
  type Link,
  listLinks,
  listWorkspaces,
  type Store,
  type Workspace,
} from '@leadgate/store';
import type { Context } from './command.ts';
import { Failure } from './io.ts';
import { showable } from './print/showable.ts';
import { nearName } from './read.ts';

/**
 * The link of a code, an id, or a capture URL. Rejects with a Failure that helps who typed a label.
 */
export async function findLinkNamed(store: Store, named: string): Promise<Link> {
  const wanted = codeOf(named.trim());
  const found = await findLink(store, isUuid(wanted) ? wanted.toLowerCase() : wanted);
  if (found !== null) return found;
  const labelled = (await listLinks(store)).find(
    ({ label }) => label !== '' && label.toLowerCase() === wanted.toLowerCase(),
  );
  throw new Failure(
    `There is no link with the code or id "${showable(named)}"${
      labelled === undefined
        ? '; leadgate link list shows those there are.'
        : `; did you mean the one labelled so, ${labelled.id}?`
    }`,
  );
}

function codeOf(named: string): string {
  return /\/ingest\/([^/?#]+)/.exec(named)?.[1] ?? named;
}

/** The workspace of a name or id. Rejects with a Failure that names the nearest one. */
export async function findWorkspace(store: Store, nameOrId: string): Promise<Workspace> {
  const workspaces = await listWorkspaces(store);
  const wanted = nameOrId.normalize('NFC').trim();
  const found = workspaces.find(({ id, name }) =>
    isUuid(wanted) ? id === wanted.toLowerCase() : name === wanted,
  );
  if (found !== undefined) return found;
  const near = nearName(
    wanted,
    workspaces.map(({ name }) => name),
  );
  throw new Failure(
    `There is no workspace "${showable(nameOrId)}"${
      near === null
        ? '; leadgate workspace list shows those there are.'
        : `; did you mean "${showable(near)}"?`
    }`,
  );
}

/** The ids of what the options `--workspace` and `--link` name. */
export async function namedIds(
  { session }: Context,
  { workspace, link }: { workspace?: string | undefined; link?: string | undefined },
): Promise<{ workspaceId?: string; linkId?: string }> {
  const store = session.store();
  return {
    ...(workspace !== undefined && { workspaceId: (await findWorkspace(store, workspace)).id }),
    ...(link !== undefined && { linkId: (await findLinkNamed(store, link)).id }),
  };
}
