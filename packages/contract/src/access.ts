import { Type } from 'typebox';
import type { FieldError } from './problem.ts';

/**
 * What somebody may do, each with all that the one before may: a viewer sees, with personal data
 * masked; an operator sees and acts; an administrator chooses who may do so.
 */
export const ROLES = ['viewer', 'operator', 'administrator'] as const;
export type Role = (typeof ROLES)[number];

export const RoleSchema = Type.Union(
  [Type.Literal('viewer'), Type.Literal('operator'), Type.Literal('administrator')],
  {
    description:
      'viewer: sees, personal data masked; operator: sees and acts; administrator: chooses who may.',
  },
);

/** What somebody may do, and where. */
export interface Access {
  /** In every workspace, and in what belongs to none; null: in those of `workspaces` only. */
  role: Role | null;
  workspaces: { workspaceId: string; role: Role }[];
}

/** A role from its column. One that this version does not know may do least. */
export function readRole(text: string): Role {
  return ROLES.find((role) => role === text) ?? 'viewer';
}

/** The higher of what somebody may do everywhere and in a workspace; null: nothing. */
export function roleIn({ role, workspaces }: Access, workspaceId: string): Role | null {
  const given = workspaces.find((one) => one.workspaceId === workspaceId)?.role ?? null;
  return rankOf(given) > rankOf(role) ? given : role;
}

/** Whether a role, if there is one, may do what asks for another one. */
export function reaches(role: Role | null, needed: Role): boolean {
  return rankOf(role) >= rankOf(needed);
}

const rankOf = (role: Role | null): number => (role === null ? -1 : ROLES.indexOf(role));

export function roleErrors(role: string): FieldError[] {
  if (ROLES.some((known) => known === role)) return [];
  const detail = `The role is not one of ${ROLES.join(', ')}.`;
  return [{ pointer: '/role', code: 'invalid', detail }];
}
