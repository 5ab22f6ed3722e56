import type { CustomField, FieldError } from '@leadgate/contract';
import { displayText, labelErrors, nameErrors } from '../display-text.ts';
import type { Store } from '../open-store.ts';
import { findNameClash } from './name-clash.ts';
import { readField } from './read-field.ts';

export type FieldRenaming =
  | { kind: 'renamed'; field: CustomField }
  | { kind: 'name-taken'; by: CustomField }
  | { kind: 'unknown-field' }
  | { kind: 'invalid'; errors: FieldError[] };

/** Gives a field another name, another label, or both. Its values stay: they are kept by its id. */
export async function renameField(
  store: Store,
  fieldId: string,
  to: { name?: string; label?: string },
  rules: { customFieldKey: (text: string) => string },
): Promise<FieldRenaming> {
  const name = to.name === undefined ? undefined : displayText(to.name);
  const label = to.label === undefined ? undefined : displayText(to.label);
  const errors = [
    ...(name === undefined ? [] : nameErrors(name)),
    ...(label === undefined ? [] : labelErrors(label)),
  ];
  if (errors.length > 0) return { kind: 'invalid', errors };
  return store.prisma.$transaction(async (tx) => {
    const field = await tx.customField.findUnique({ where: { id: fieldId } });
    if (field === null) return { kind: 'unknown-field' };
    if (name !== undefined) {
      const { workspaceId } = field;
      const clash = await findNameClash(tx, { workspaceId, name, exceptFieldId: fieldId }, rules);
      if (clash.kind === 'name-taken') return clash;
    }
    const renamed = await tx.customField.update({
      where: { id: fieldId },
      data: { ...(name !== undefined && { name }), ...(label !== undefined && { label }) },
    });
    return { kind: 'renamed', field: readField(renamed) };
  });
}
