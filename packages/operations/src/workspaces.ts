import type { FieldError, PhoneClass } from '@leadgate/contract';
import { isPhoneCountry, phoneKeyOf } from '@leadgate/leads';
import {
  createWorkspace as insertWorkspace,
  findWorkspace,
  updateWorkspace,
  workspaceLinkEntries,
  type LinkEntry,
  type Store,
  type Workspace,
  type WorkspaceCreation,
} from '@leadgate/store';

export interface WorkspaceInput {
  name: string;
  /** ISO 3166-1 alpha-2, in any case. */
  country: string;
  /** Phones that identify nobody, as typed. */
  dummyPhones: readonly string[];
}

/** Creates a workspace. Its marker in Redis is the caller's to set (`openWorkspace` of intake). */
export async function createWorkspace(
  store: Store,
  input: WorkspaceInput,
): Promise<WorkspaceCreation> {
  const country = input.country.trim().toUpperCase();
  const phones = readPhones(input.dummyPhones, country);
  if (phones.kind === 'invalid') return phones;
  const { name } = input;
  return insertWorkspace(store, { name, country, dummyPhones: phones.keys }, { isPhoneCountry });
}

/** What is to change; what is left out stays. */
export interface WorkspaceSettings {
  /** Replaces the list. As typed: the workspace's country is read into them. */
  dummyPhones?: readonly string[];
  dummyClasses?: readonly PhoneClass[];
}

export type WorkspaceUpdate =
  | {
      kind: 'updated';
      workspace: Workspace;
      /** What receivers read of its links: the caller's to put in Redis (`putLinks` of intake). */
      entries: LinkEntry[];
    }
  | { kind: 'unknown-workspace' }
  | { kind: 'invalid'; errors: FieldError[] };

/**
 * Changes which telephones identify nobody in a workspace. It counts for what comes from then on:
 * keys that are claimed stay, and nothing asks for them any more.
 */
export async function setWorkspace(
  store: Store,
  workspaceId: string,
  { dummyPhones, dummyClasses }: WorkspaceSettings,
): Promise<WorkspaceUpdate> {
  const before = await findWorkspace(store, workspaceId);
  if (before === null) return { kind: 'unknown-workspace' };
  const phones = readPhones(dummyPhones ?? [], before.country);
  if (phones.kind === 'invalid') return phones;
  const workspace = await updateWorkspace(store, workspaceId, {
    ...(dummyPhones !== undefined && { dummyPhones: phones.keys }),
    ...(dummyClasses !== undefined && { dummyClasses: [...new Set(dummyClasses)] }),
  });
  if (workspace === null) return { kind: 'unknown-workspace' };
  return { kind: 'updated', workspace, entries: await workspaceLinkEntries(store, workspaceId) };
}

const MAX_PHONES = 1_000;

/** A list of phones as they are compared, or what is wrong with it. */
function readPhones(
  phones: readonly string[],
  country: string,
): { kind: 'read'; keys: string[] } | { kind: 'invalid'; errors: FieldError[] } {
  const keys = new Set<string>();
  const errors: FieldError[] = [];
  for (const [i, phone] of phones.entries()) {
    const key = phoneKeyOf(phone, country);
    if (key === null)
      errors.push({
        pointer: `/dummyPhones/${i}`,
        code: 'not-a-telephone',
        detail: `Phone ${i + 1} of the list is not one: write its 8 to 15 digits.`,
      });
    else keys.add(key);
  }
  if (phones.length > MAX_PHONES)
    errors.push({
      pointer: '/dummyPhones',
      code: 'too-many-items',
      detail: `Send at most ${MAX_PHONES} phones.`,
    });
  return errors.length > 0 ? { kind: 'invalid', errors } : { kind: 'read', keys: [...keys] };
}
