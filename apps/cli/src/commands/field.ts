import { CUSTOM_FIELD_TYPES, type CustomField, type CustomFieldType } from '@leadgate/contract';
import { customFieldKey } from '@leadgate/leads';
import { archiveField, createField, listFields, renameField, type Store } from '@leadgate/store';
import { Option, type Command } from 'commander';
import { addCommand, addNoun, answer, collect, type Context, type JsonOption } from '../command.ts';
import { EXIT, Failure } from '../failure.ts';
import { findWorkspace } from '../find-workspace.ts';
import { showable } from '../print/showable.ts';
import { pairs, table } from '../print/table.ts';
import { nearName } from '../read/near-name.ts';
import { refused } from '../refused.ts';

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

export function addFieldCommands(program: Command, context: Context): void {
  const field = addNoun(program, 'field', 'Create and change the custom fields of a workspace.');

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
    .action((workspace: string, options: CreateOptions) => create(context, workspace, options));

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
    .action((workspace: string, name: string, options: RenameOptions) =>
      rename(context, workspace, name, options),
    );

  addCommand(field, 'archive', {
    summary: 'Archive a field: it keeps its values and its name, and takes no new values.',
    examples: ['field archive "My agency" plano'],
  })
    .argument('<workspace>', WORKSPACE)
    .argument('<field>', FIELD)
    .action((workspace: string, name: string, options: JsonOption) =>
      archive(context, workspace, name, options),
    );
}

async function create(
  { io, session }: Context,
  workspaceName: string,
  { name, label = name, type, option = [], ...options }: CreateOptions,
): Promise<void> {
  const workspace = await findWorkspace(session.store(), workspaceName);
  const outcome = await createField(
    session.store(),
    workspace.id,
    { name, label, type, options: option },
    { customFieldKey },
  );
  if (outcome.kind === 'invalid') throw refused(outcome.errors);
  if (outcome.kind === 'name-taken') throw nameTaken(outcome.by);
  if (outcome.kind === 'unknown-workspace') throw new Failure('The workspace is gone.');
  answer(io, options, outcome.field, () => describe('Created', outcome.field));
}

async function list(
  { io, session }: Context,
  workspaceName: string,
  options: JsonOption,
): Promise<void> {
  const workspace = await findWorkspace(session.store(), workspaceName);
  const fields = await listFields(session.store(), workspace.id);
  answer(io, options, fields, () =>
    fields.length === 0
      ? `${showable(workspace.name)} has no custom field yet: leadgate field create WORKSPACE --name NAME --type TYPE.\n`
      : table(
          ['name', 'label', 'type', 'options', 'state', 'id'],
          fields.map((field) => [
            field.name,
            field.label,
            field.type,
            field.options.join(', '),
            field.archived ? 'archived' : 'in use',
            field.id,
          ]),
        ),
  );
}

async function rename(
  { io, session }: Context,
  workspaceName: string,
  fieldName: string,
  { name, label, ...options }: RenameOptions,
): Promise<void> {
  if (name === undefined && label === undefined)
    throw new Failure('Say what to change: --name, --label, or both.', EXIT.usage);
  const field = await findField(session.store(), workspaceName, fieldName);
  const to = { ...(name !== undefined && { name }), ...(label !== undefined && { label }) };
  const outcome = await renameField(session.store(), field.id, to, { customFieldKey });
  if (outcome.kind === 'invalid') throw refused(outcome.errors);
  if (outcome.kind === 'name-taken') throw nameTaken(outcome.by);
  if (outcome.kind === 'unknown-field') throw new Failure('The field is gone.');
  answer(io, options, outcome.field, () => describe('Renamed', outcome.field));
}

async function archive(
  { io, session }: Context,
  workspaceName: string,
  fieldName: string,
  options: JsonOption,
): Promise<void> {
  const found = await findField(session.store(), workspaceName, fieldName);
  const field = await archiveField(session.store(), found.id);
  if (field === null) throw new Failure('The field is gone.');
  answer(io, options, field, () =>
    describe(found.archived ? 'Archived before' : 'Archived', field),
  );
}

/** The field of a name or id. Rejects with a Failure that names the nearest one. */
async function findField(
  store: Store,
  workspaceName: string,
  nameOrId: string,
): Promise<CustomField> {
  const workspace = await findWorkspace(store, workspaceName);
  const fields = await listFields(store, workspace.id);
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

function nameTaken(by: CustomField): Failure {
  return new Failure(
    by.archived
      ? `The archived field "${showable(by.name)}" keeps this name and the values under it; choose another name.`
      : `There is a field "${showable(by.name)}" already, and case does not tell names apart; choose another name.`,
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
