import { CUSTOM_FIELD_TYPES, type CustomField, type CustomFieldType } from '@leadgate/contract';
import { customFieldKey } from '@leadgate/leads';
import { type Command, Option } from 'commander';
import { call } from '../call.ts';
import {
  addCommand,
  answer,
  answerList,
  collect,
  type Context,
  type JsonOption,
} from '../command.ts';
import { Failure } from '../io.ts';
import { findWorkspace } from '../named.ts';
import { showable } from '../print/showable.ts';
import { pairs } from '../print/table.ts';
import { nearName } from '../read.ts';

interface CreateOptions extends JsonOption {
  name: string;
  label?: string;
  type: CustomFieldType;
  option?: string[];
}

interface RenameOptions extends JsonOption {
  name?: string;
  label?: string;
}

const WORKSPACE = 'name or id of the workspace';
const FIELD = 'name or id of the field';

export function addFieldCommands(field: Command, context: Context): void {
  addCommand(field, 'create', {
    summary: 'Create a custom field.',
    details: 'Name and label can be changed later, its type cannot.',
    examples: [
      'field create "My agency" --name renda --label "Renda mensal" --type number',
      'field create "My agency" --name plano --type select --option ouro --option prata',
    ],
  })
    .argument('<workspace>', WORKSPACE)
    .requiredOption('--name <name>', 'its name, by which senders name it; unique in the workspace')
    .option('--label <label>', 'what is shown; the name where it is left out')
    .addOption(
      new Option('--type <type>', 'what it holds')
        .choices(CUSTOM_FIELD_TYPES)
        .makeOptionMandatory(),
    )
    .option(
      '--option <value>',
      'a value that a select or multi-select takes; repeat it, in the order shown',
      collect,
    )
    .action(
      async (workspaceName: string, { name, label, type, option, ...options }: CreateOptions) => {
        const { id: workspaceId } = await findWorkspace(context.session.store(), workspaceName);
        const input = { workspaceId, name, label, type, options: option };
        const field = await call(context, 'field.create', input);
        answer(context.io, options, field, () => describe('Created', field));
      },
    );

  addCommand(field, 'list', {
    summary: 'List the custom fields of a workspace, archived ones too.',
    examples: ['field list "My agency"'],
  })
    .argument('<workspace>', WORKSPACE)
    .action((workspace: string, options: JsonOption) => list(context, workspace, options));

  addCommand(field, 'rename', {
    summary: 'Give a field another name, another label, or both. Its values stay.',
    examples: ['field rename "My agency" plano --name plan --label "Plano de interesse"'],
  })
    .argument('<workspace>', WORKSPACE)
    .argument('<field>', FIELD)
    .option('--name <name>', 'its new name')
    .option('--label <label>', 'its new label')
    .action(
      async (
        workspaceName: string,
        fieldName: string,
        { name, label, ...options }: RenameOptions,
      ) => {
        const { id: fieldId } = await findField(context, workspaceName, fieldName);
        const field = await call(context, 'field.rename', { fieldId, name, label });
        answer(context.io, options, field, () => describe('Renamed', field));
      },
    );

  addCommand(field, 'archive', {
    summary: 'Archive a field: it keeps its values and its name, and takes no new values.',
    examples: ['field archive "My agency" plano'],
  })
    .argument('<workspace>', WORKSPACE)
    .argument('<field>', FIELD)
    .action(async (workspaceName: string, fieldName: string, options: JsonOption) => {
      const found = await findField(context, workspaceName, fieldName);
      const field = await call(context, 'field.archive', { fieldId: found.id });
      answer(context.io, options, field, () =>
        describe(found.archived ? 'Archived before' : 'Archived', field),
      );
    });
}

async function list(context: Context, workspaceName: string, options: JsonOption): Promise<void> {
  const { io, session } = context;
  const workspace = await findWorkspace(session.store(), workspaceName);
  const fields = await call(context, 'field.list', { workspaceId: workspace.id });
  answerList(io, options, fields, {
    none: `${showable(workspace.name)} has no custom field yet: leadgate field create WORKSPACE --name NAME --type TYPE.`,
    head: ['name', 'label', 'type', 'options', 'state', 'id'],
    row: (field) => [
      field.name,
      field.label,
      field.type,
      field.options.join(', '),
      field.archived ? 'archived' : 'in use',
      field.id,
    ],
  });
}

/** The field of a name or id. Rejects with a Failure that names the nearest one. */
async function findField(
  context: Context,
  workspaceName: string,
  nameOrId: string,
): Promise<CustomField> {
  const workspace = await findWorkspace(context.session.store(), workspaceName);
  const fields = await call(context, 'field.list', { workspaceId: workspace.id });
  const key = customFieldKey(nameOrId);
  // Folded names are unique too.
  const found = fields.find(({ id, name }) => id === key || customFieldKey(name) === key);
  if (found !== undefined) return found;
  const near = nearName(
    nameOrId,
    fields.map(({ name }) => name),
  );
  throw new Failure(
    `${showable(workspace.name)} has no custom field "${showable(nameOrId)}"${
      near === null
        ? '; leadgate field list shows those there are.'
        : `; did you mean "${showable(near)}"?`
    }`,
  );
}

function describe(what: string, field: CustomField): string {
  return pairs([
    [what, field.name],
    ['Label', field.label],
    ['Type', field.type],
    ...(field.options.length > 0 ? [['Options', field.options.join(', ')] as const] : []),
    ['Id', field.id],
  ]);
}
