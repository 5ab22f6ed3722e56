import { openWorkspace } from '@leadgate/intake';
import { isPhoneCountry, normalizeLead } from '@leadgate/leads';
import { createWorkspace, listWorkspaces, type Workspace } from '@leadgate/store';
import type { Command } from 'commander';
import { addCommand, addNoun, answer, collect, type Context, type JsonOption } from '../command.ts';
import { EXIT, Failure } from '../failure.ts';
import { refused } from '../refused.ts';
import { shortTime } from '../print/time.ts';
import { showable } from '../print/showable.ts';
import { pairs, table } from '../print/table.ts';
import { tellRedis } from '../tell-redis.ts';

interface CreateOptions extends JsonOption {
  country: string;
  dummy?: string[];
}

export function addWorkspaceCommands(program: Command, context: Context): void {
  const workspace = addNoun(
    program,
    'workspace',
    'Create workspaces, which own links, fields and leads.',
  );

  addCommand(workspace, 'create', {
    summary: 'Create a workspace.',
    examples: ['workspace create "My agency"', 'workspace create "Agência Lisboa" --country PT'],
  })
    .argument('<name>', 'its name, unique')
    .option(
      '--country <code>',
      'country (ISO 3166-1) of phone numbers without a country code',
      'BR',
    )
    .option(
      '--dummy <phone>',
      'a phone that identifies nobody, besides those of one repeated digit; may be repeated',
      collect,
    )
    .action((name: string, options: CreateOptions) => create(context, name, options));

  addCommand(workspace, 'list', {
    summary: 'List the workspaces.',
    examples: ['workspace list', 'workspace list --json'],
  }).action((options: JsonOption) => list(context, options));
}

async function create(context: Context, name: string, options: CreateOptions): Promise<void> {
  const { io, session } = context;
  const country = options.country.trim().toUpperCase();
  const dummyPhones = (options.dummy ?? []).map((phone) => phoneOf(phone, country));
  const outcome = await createWorkspace(
    session.store(),
    { name, country, dummyPhones },
    { isPhoneCountry },
  );
  if (outcome.kind === 'invalid') throw refused(outcome.errors);
  if (outcome.kind === 'name-taken')
    throw new Failure(
      `There is a workspace "${showable(outcome.name)}" already; choose another name.`,
    );
  const { workspace } = outcome;
  await tellRedis(context, (redis) => openWorkspace(redis, workspace.id));
  answer(io, options, workspace, () =>
    pairs([
      ['Created', workspace.name],
      ['Id', workspace.id],
      ['Country', workspace.country],
      ...dummiesOf(workspace),
    ]),
  );
}

async function list({ io, session }: Context, options: JsonOption): Promise<void> {
  const workspaces = await listWorkspaces(session.store());
  answer(io, options, workspaces, () =>
    workspaces.length === 0
      ? 'There is no workspace yet: leadgate workspace create NAME.\n'
      : table(
          ['name', 'id', 'country', 'created'],
          workspaces.map(({ name, id, country, createdAt }) => [
            name,
            id,
            country,
            shortTime(createdAt),
          ]),
        ),
  );
}

function dummiesOf({ dummyPhones }: Workspace): [string, string][] {
  return dummyPhones.length === 0 ? [] : [['Dummies', dummyPhones.join(', ')]];
}

/** The key of a phone (E.164) under a country. A Failure where it is no phone. */
function phoneOf(text: string, country: string): string {
  const lead = normalizeLead(
    { telephone: text },
    { mode: 'strict', country, dummyPhones: [], today: new Date().toISOString().slice(0, 10) },
  );
  if (lead.kind === 'refused')
    throw new Failure(`"${showable(text)}" is not a phone: write its digits.`, EXIT.usage);
  const key = lead.identities[0];
  if (key === undefined)
    throw new Failure(
      `"${showable(text)}" repeats one digit and identifies nobody as it is.`,
      EXIT.usage,
    );
  return key.slice('phone:'.length);
}
