import { NOTE_CODES, type NoteCode, UTM_FIELDS, type UtmField } from '@leadgate/contract';
import { type TextFile } from '@leadgate/operations';
import { type Command, Option } from 'commander';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { resolve } from 'node:path';
import { call } from '../call.ts';
import { addCommand, answer, type Context, type JsonOption, remark } from '../command.ts';
import { EXIT, Failure, type Io } from '../io.ts';
import { findLinkNamed, findWorkspace } from '../named.ts';
import { leadTable } from '../print/lead.ts';
import { showable, showableJson, showableLines } from '../print/showable.ts';
import { count } from '../print/table.ts';
import { past, wholeNumber } from '../read.ts';

interface FilterOptions extends Partial<Record<UtmField, string>> {
  workspace?: string;
  link?: string;
  since?: Date;
  until?: Date;
  came?: 'once' | 'again';
  note?: NoteCode;
  field?: string;
  value?: string;
  telephone?: boolean;
  email?: boolean;
}

interface ExportOptions extends FilterOptions {
  format: 'csv' | 'ndjson';
  output?: string;
}

interface ListOptions extends FilterOptions, JsonOption {
  after?: string;
  limit: number;
}

/** Those of the leads of a workspace that fit: page by page, or all of them into a file. */
export function addLeadLists(lead: Command, context: Context): void {
  const list = addCommand(lead, 'list', {
    summary: 'List leads that fit, those stored last first.',
    examples: [
      'lead list --workspace "My agency" --since 7d --no-telephone',
      'lead list --link summer-sale --came again --json',
    ],
  });
  addFilters(list)
    .option('--after <place>', 'only those after this place in the list: the next page')
    .option('--limit <n>', 'how many at most', wholeNumber, 50)
    .action(async (options: ListOptions) => {
      const { io } = context;
      const { after, limit } = options;
      const page = await call(context, 'lead.list', {
        ...(await filterOf(context, options)),
        after,
        limit,
      });
      answer(io, options, page, () => leadTable(page.leads) || 'No lead fits.\n');
      if (page.next !== null) remark(io, `there may be more: add --after ${page.next}`);
    });

  const command = addCommand(lead, 'export', {
    summary: 'Write leads as CSV or as JSON line by line.',
    details: 'In a CSV, what a spreadsheet would take for a formula has an apostrophe before it.',
    examples: [
      'lead export --workspace "My agency" --output leads.csv',
      'lead export --link summer-sale --since 7d --utm-source meta --format ndjson | wc -l',
    ],
  }).addOption(
    new Option('--format <format>', 'csv or ndjson').choices(['csv', 'ndjson']).default('csv'),
  );
  addFilters(command)
    .option('--output <file>', 'write it there and not to the standard output')
    .action(async (options: ExportOptions) => {
      const { format, output } = options;
      const file = await call(context, 'lead.export', {
        ...(await filterOf(context, options)),
        format,
      });
      await writeOut(context, file, output, 'lead');
    });
}

function addFilters(command: Command): Command {
  command
    .option('--workspace <workspace>', 'of this one: name or id; needless with --link')
    .option('--link <link>', 'only those that a submission of this link reached')
    .option('--since <time>', 'created from then on: a time, a date, or how long ago (7d)', past)
    .option('--until <time>', 'created before then', past)
    .addOption(
      new Option('--came <often>', 'of one submission, or of more').choices(['once', 'again']),
    )
    .addOption(
      new Option('--note <code>', 'of which a submission has this note').choices(
        Object.keys(NOTE_CODES),
      ),
    )
    .option('--field <name>', 'of which this custom field has the --value')
    .option('--value <text>', 'the whole value of the --field')
    .option('--telephone', 'only those with a telephone')
    .option('--no-telephone', 'only those without one')
    .option('--email', 'only those with an email')
    .option('--no-email', 'only those without one');
  for (const mark of UTM_FIELDS)
    command.option(`--${dashed(mark)} <text>`, `only with this ${mark}, first or last`);
  return command;
}

const dashed = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** What the options ask for, as the operations know it. */
async function filterOf(context: Context, options: FilterOptions) {
  const { link, workspace, since, until, came, note, field, value, telephone, email } = options;
  const found = link === undefined ? null : await findLinkNamed(context.session.store(), link);
  const workspaceId = found?.workspaceId ?? (await workspaceOf(context, workspace));
  return {
    ...{ workspaceId, linkId: found?.id, since, until, came, note, telephone, email },
    ...Object.fromEntries(UTM_FIELDS.map((mark) => [mark, options[mark]])),
    fieldId: field === undefined ? undefined : await fieldNamed(context, workspaceId, field),
    fieldValue: value,
  };
}

async function fieldNamed(context: Context, workspaceId: string, named: string): Promise<string> {
  const fields = await call(context, 'field.list', { workspaceId });
  const found = fields.find(({ id, name }) => id === named || name === named);
  if (found !== undefined) return found.id;
  throw new Failure(`There is no custom field "${showable(named)}".`);
}

/** Writes a file if it was asked for: to a path, else to the standard output. */
export async function writeOut(
  { io }: Context,
  file: TextFile,
  output: string | undefined,
  noun: 'lead' | 'consent',
): Promise<void> {
  if (output === undefined) await printOut(io, file);
  else {
    await writeFile(resolve(io.cwd, output), file.texts);
    remark(io, `${count(file.rows(), noun)} written to ${showable(output)}.`);
  }
}

/** Writes a file to the standard output; if that is a terminal, nothing of it drives the terminal. */
export async function printOut(io: Io, file: TextFile): Promise<void> {
  const isJson = file.type.endsWith('ndjson');
  const shown = (text: string): string =>
    isJson ? showableJson(text) : io.printsToTerminal === true ? showableLines(text) : text;
  for await (const text of file.texts) {
    io.out(shown(text));
    await io.drained?.();
  }
}

/** The workspace that is named, or the only one that there is. */
export async function workspaceOf(context: Context, named: string | undefined): Promise<string> {
  if (named !== undefined) return (await findWorkspace(context.session.store(), named)).id;
  const [only, ...others] = await call(context, 'workspace.list', {});
  if (only !== undefined && others.length === 0) return only.id;
  throw new Failure('Say of which workspace: --workspace, or --link.', EXIT.usage);
}

/** Readable by its owner only: it is full of people. */
async function writeFile(path: string, texts: AsyncIterable<string>): Promise<void> {
  const file = createWriteStream(path, { mode: 0o600 });
  await once(file, 'open').catch((error: unknown) => {
    throw new Failure(
      `${showable(path)} cannot be written (${String(Reflect.get(Object(error), 'code'))}).`,
    );
  });
  for await (const text of texts) if (!file.write(text)) await once(file, 'drain');
  file.end();
  await once(file, 'close');
}
