import type { FieldError } from '@leadgate/contract';
import { randomUUID } from 'node:crypto';
import { displayText, nameErrors } from '../display-text.ts';
import { isUniqueViolation } from '../unique-violation.ts';
import type { Store } from '../open-store.ts';
import type { Workspace } from './workspace.ts';

export interface NewWorkspace {
  name: string;
  /** ISO 3166-1 alpha-2, upper case: the country of phone numbers without a country code. */
  country: string;
  /** Phones (E.164) that identify nobody. */
  dummyPhones: string[];
}

export type WorkspaceCreation =
  | { kind: 'created'; workspace: Workspace }
  | { kind: 'name-taken'; name: string }
  | { kind: 'invalid'; errors: FieldError[] };

/**
 * Creates a workspace. Its marker in Redis is the caller's to set (`openWorkspace` of intake); the
 * worker sets it where the caller could not.
 */
export async function createWorkspace(
  store: Store,
  input: NewWorkspace,
  rules: { isPhoneCountry: (country: string) => boolean },
): Promise<WorkspaceCreation> {
  const name = displayText(input.name);
  const errors = nameErrors(name);
  if (!rules.isPhoneCountry(input.country))
    errors.push({
      pointer: '/country',
      code: 'unknown-country',
      detail:
        'The country is not a two-letter code (ISO 3166-1) whose phone numbers are known, such as BR.',
    });
  if (errors.length > 0) return { kind: 'invalid', errors };
  try {
    const { country, dummyPhones } = input;
    const workspace = await store.prisma.workspace.create({
      data: { id: randomUUID(), name, country, dummyPhones },
    });
    return { kind: 'created', workspace };
  } catch (error) {
    if (isUniqueViolation(error)) return { kind: 'name-taken', name };
    throw error;
  }
}
