import { contactKeys } from '@leadgate/leads';
import { isUuid, type LeadSearch, type Workspace } from '@leadgate/store';
import { EXIT, Failure } from './failure.ts';
import { showable } from './print/showable.ts';

/** Looks for an email as the receiver would read it. A Failure where it is none. */
export function searchByEmail(email: string, workspaces: readonly Workspace[]): LeadSearch {
  const search = whole({ email }, workspaces);
  if (search !== null) return search;
  throw new Failure(
    `"${showable(email)}" is not a whole email; leadgate lead find TEXT looks for a part of one.`,
    EXIT.usage,
  );
}

/** Looks for a telephone, in any of its spellings in the country of each workspace. */
export function searchByTelephone(telephone: string, workspaces: readonly Workspace[]): LeadSearch {
  const search = whole({ telephone }, workspaces);
  if (search !== null) return search;
  throw new Failure(
    `"${showable(telephone)}" is not a whole phone (8 to 15 digits); leadgate lead find DIGITS looks for a part of one.`,
    EXIT.usage,
  );
}

/** Looks for a text that may be an id, an email, a phone, or a part of a name, email or phone. */
export function searchByText(text: string, workspaces: readonly Workspace[]): LeadSearch {
  const trimmed = text.trim();
  if (isUuid(trimmed)) return { leadId: trimmed };
  const contact =
    whole({ email: trimmed }, workspaces) ?? whole({ telephone: trimmed }, workspaces);
  const digits = trimmed.replace(/[\s().+-]/g, '');
  return {
    ...contact,
    ...(!/\s/.test(trimmed) && { emailPart: trimmed }),
    ...(/^\d{4,15}$/.test(digits) && { telephonePart: digits }),
    name: trimmed,
  };
}

/** As somebody typed it. Of no workspace there are no leads, and nothing is wrong with it either. */
function whole(
  contact: Parameters<typeof contactKeys>[0],
  workspaces: readonly Workspace[],
): LeadSearch | null {
  if (workspaces.length === 0) return {};
  return contactKeys(contact, workspaces);
}
