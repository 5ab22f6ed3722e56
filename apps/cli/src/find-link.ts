import { findLink, isUuid, listLinks, type Link, type Store } from '@leadgate/store';
import { Failure } from './failure.ts';
import { showable } from './print/showable.ts';

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
