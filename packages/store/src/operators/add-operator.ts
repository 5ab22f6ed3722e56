import type { FieldError } from '@leadgate/contract';
import { randomUUID } from 'node:crypto';
import { displayText, nameErrors } from '../display-text.ts';
import type { Store } from '../open-store.ts';
import { isUniqueViolation } from '../unique-violation.ts';
import {
  operatorColumns,
  passwordErrors,
  readOperator,
  roleErrors,
  type Operator,
  type Role,
} from './operator.ts';
import { hashPassword } from './password-hash.ts';

export interface NewOperator {
  name: string;
  password: string;
  role: Role;
}

export type OperatorAddition =
  | { kind: 'added'; operator: Operator }
  | { kind: 'name-taken'; name: string }
  | { kind: 'invalid'; errors: FieldError[] };

/** Adds a person who may sign in to the console. */
export async function addOperator(store: Store, input: NewOperator): Promise<OperatorAddition> {
  const name = displayText(input.name);
  const errors = [
    ...nameErrors(name),
    ...passwordErrors(input.password),
    ...roleErrors(input.role),
  ];
  if (errors.length > 0) return { kind: 'invalid', errors };
  const passwordHash = await hashPassword(input.password);
  try {
    const row = await store.prisma.operator.create({
      data: { id: randomUUID(), name, role: input.role, passwordHash },
      select: operatorColumns,
    });
    return { kind: 'added', operator: readOperator(row) };
  } catch (error) {
    if (isUniqueViolation(error)) return { kind: 'name-taken', name };
    throw error;
  }
}
