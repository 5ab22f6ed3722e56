import type { FieldError } from '@leadgate/contract';

/** What somebody may do: a viewer sees, with personal data masked; an operator sees and acts. */
export const ROLES = ['viewer', 'operator'] as const;
export type Role = (typeof ROLES)[number];

/** A person who may use the console. */
export interface Operator {
  id: string;
  /** Unique. */
  name: string;
  role: Role;
  createdAt: Date;
}

/** The columns of an Operator: never the hash of the password. */
export const operatorColumns = { id: true, name: true, role: true, createdAt: true } as const;

/** An operator from its row; the table holds no other roles. */
export function readOperator(row: Omit<Operator, 'role'> & { role: string }): Operator {
  return { ...row, role: readRole(row.role) };
}

/** A role from its column. One that this version does not know may do least. */
export function readRole(text: string): Role {
  return text === 'operator' ? 'operator' : 'viewer';
}

const SHORTEST_PASSWORD = 10;
const LONGEST_PASSWORD = 200;

/** What is wrong with a password. Its length is all that is asked of it (NIST SP 800-63B). */
export function passwordErrors(password: string): FieldError[] {
  const length = [...password].length;
  if (length >= SHORTEST_PASSWORD && length <= LONGEST_PASSWORD) return [];
  return [
    {
      pointer: '/password',
      code: 'invalid',
      detail: `The password needs ${SHORTEST_PASSWORD} to ${LONGEST_PASSWORD} characters.`,
    },
  ];
}

/** What is wrong with a role. */
export function roleErrors(role: string): FieldError[] {
  if (ROLES.some((known) => known === role)) return [];
  const detail = `The role is not one of ${ROLES.join(', ')}.`;
  return [{ pointer: '/role', code: 'invalid', detail }];
}
