import { isUuid, listWorkspaces, type Store, type Workspace } from '@leadgate/store';
import { Failure } from './failure.ts';
import { showable } from './print/showable.ts';
import { nearName } from './read/near-name.ts';

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
