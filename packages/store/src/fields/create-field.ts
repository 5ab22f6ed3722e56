import {
  CUSTOM_FIELD_TYPES,
  type CustomField,
  type CustomFieldType,
  type FieldError,
} from '@leadgate/contract';
import { randomUUID } from 'node:crypto';
import { displayText, displayTextFault, labelErrors, nameErrors } from '../display-text.ts';
import type { Store } from '../open-store.ts';
import { findNameClash } from './name-clash.ts';
import { readField } from './read-field.ts';

export interface NewField {
  name: string;
  label: string;
  type: CustomFieldType;
  /** The values of a select or multi-select, in the order shown; empty for other types. */
  options: string[];
}

export type FieldCreation =
  | { kind: 'created'; field: CustomField }
  | { kind: 'name-taken'; by: CustomField }
  | { kind: 'unknown-workspace' }
  | { kind: 'invalid'; errors: FieldError[] };

/**
 * Creates a custom field. A name is refused when `rules.customFieldKey` folds it to the same key as
 * that of another field of the workspace, archived ones included: a body's key would name both.
 */
export async function createField(
  store: Store,
  workspaceId: string,
  input: NewField,
  rules: { customFieldKey: (text: string) => string },
): Promise<FieldCreation> {
  const { type } = input;
  const name = displayText(input.name);
  const label = displayText(input.label);
  const options = input.options.map(displayText);
  const errors = [...nameErrors(name), ...labelErrors(label), ...typeErrors(type, options)];
  if (errors.length > 0) return { kind: 'invalid', errors };
  return store.prisma.$transaction(async (tx) => {
    const clash = await findNameClash(tx, { workspaceId, name }, rules);
    if (clash.kind !== 'free') return clash;
    const field = await tx.customField.create({
      data: { id: randomUUID(), workspaceId, name, label, type, options },
    });
    return { kind: 'created', field: readField(field) };
  });
}

function typeErrors(type: string, options: string[]): FieldError[] {
  const fault = (pointer: string, detail: string) => [{ pointer, code: 'invalid', detail }];
  if (!CUSTOM_FIELD_TYPES.some((known) => known === type))
    return fault('/type', `The type is not one of ${CUSTOM_FIELD_TYPES.join(', ')}.`);
  const takesOptions = type === 'select' || type === 'multi-select';
  if (takesOptions && options.length === 0)
    return fault('/options', `A ${type} field needs at least one option.`);
  if (!takesOptions && options.length > 0)
    return fault('/options', `A ${type} field takes no options; select and multi-select do.`);
  return options.flatMap((option, at) => {
    const problem =
      displayTextFault(option) ?? (options.indexOf(option) < at ? 'is there twice' : null);
    return problem === null ? [] : fault(`/options/${at}`, `Option ${at + 1} ${problem}.`);
  });
}
