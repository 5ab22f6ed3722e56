import { contactKeys } from '@leadgate/leads';
import { reaches, type Role } from '@leadgate/contract';
import { isUuid, listWorkspaces, type LeadSearch, type Store } from '@leadgate/store';

/**
 * What to look for when somebody types an id, an email, a phone, or a part of a name, email or
 * phone. A viewer finds by whole ids, emails and phones only: by parts, masked data could be
 * guessed letter by letter. Null where that leaves nothing to look for.
 */
export async function readSearch(
  store: Store,
  text: string,
  { role, workspaceId }: { role: Role | null; workspaceId?: string | undefined },
): Promise<LeadSearch | null> {
  const within = workspaceId === undefined ? {} : { workspaceId };
  const typed = text.trim();
  if (isUuid(typed)) return { ...within, leadId: typed };
  const workspaces = await listWorkspaces(store);
  const whole =
    contactKeys({ email: typed }, workspaces) ?? contactKeys({ telephone: typed }, workspaces);
  if (!reaches(role, 'operator')) return whole === null ? null : { ...within, ...whole };
  const digits = typed.replace(/[\s().+-]/g, '');
  return {
    ...within,
    ...whole,
    ...(!/\s/.test(typed) && { emailPart: typed }),
    ...(/^\d{4,15}$/.test(digits) && { telephonePart: digits }),
    name: typed,
  };
}
