import { leadPath, pointerOf } from './lead-path.ts';
import type { CustomValue, Lead } from './lead.ts';

export type Input = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** What a visitor filled in, and the inputs it came from, by JSON pointer. */
export interface FilledForm {
  lead: Lead;
  inputs: Map<string, Input[]>;
}

const NEVER_SENT = /^(submit|button|reset|password|file)$/;

/**
 * Reads a form as a lead: what the same form sends without a script, less the blanks. Of several
 * texts of one name the last filled one counts; a group of checkboxes, a multiple select and a name
 * that ends in `[]` give a list; a single checkbox gives its value (`on` if it has none) when
 * checked. Disabled inputs, buttons, passwords, files and payment cards are never sent.
 */
export function readForm(form: HTMLFormElement): FilledForm {
  const lead: { [field: string]: unknown } = {};
  const inputs = new Map<string, Input[]>();
  for (const input of form.elements as Iterable<Input>) {
    const path = isSendable(input) && leadPath(input.name);
    if (!path) continue;
    const pointer = pointerOf(path);
    const group = [...(inputs.get(pointer) || []), input];
    inputs.set(pointer, group);
    const [field, key] = path;
    const value = valueOf(group);
    lead[field] = key ? { ...(lead[field] as object), [key]: value } : value;
  }
  return { lead, inputs };
}

function isSendable(input: Input): boolean {
  return !NEVER_SENT.test(input.type) && input.matches(':enabled:not([autocomplete^=cc-])');
}

/** Of the inputs of one name, in their order; undefined if nothing is filled in. */
function valueOf(inputs: Input[]): CustomValue | undefined {
  const [{ name, type }, second] = inputs as [Input, Input?];
  const isList = /\[]$/.test(name) || type === 'select-multiple' || (type === 'checkbox' && second);
  const texts = inputs.flatMap(textsOf).filter(Boolean);
  return isList ? texts[0] && texts : texts.pop();
}

/** What a visitor wrote or chose in one input. */
function textsOf(input: Input): string[] {
  if ('selectedOptions' in input) return Array.from(input.selectedOptions, ({ value }) => value);
  return /^(checkbox|radio)$/.test(input.type) && !input.matches(':checked') ? [] : [input.value];
}
