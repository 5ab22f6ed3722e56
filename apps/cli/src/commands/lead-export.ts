import { UTM_FIELDS, type UtmField } from '@leadgate/contract';
import { loadNoun, type TextFile } from '@leadgate/operations';
import { type Command, Option } from 'commander';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { resolve } from 'node:path';
import { call } from '../call.ts';
import { addCommand, type Context, remark } from '../command.ts';
import { EXIT, Failure } from '../io.ts';
import { findLinkNamed, findWorkspace } from '../named.ts';
import { showable, showableJson } from '../print/showable.ts';
import { count } from '../print/table.ts';
import { past } from '../read.ts';

interface ExportOptions extends Partial<Record<UtmField, string>> {
  format: 'csv' | 'ndjson';
  workspace?: string;
  link?: string;
  since?: Date;
  until?: Date;
  output?: string;
}

export function addLeadExport(lead: Command, context: Context): void {
  const command = addCommand(lead, 'export', {
    summary: 'Write leads as CSV or as JSON line by line.',
    details: 'In a CSV, what a spreadsheet would take for a formula has an apostrophe before it.',
    examples: [
      'lead export --workspace "My agency" --output leads.csv',
      'lead export --link summer-sale --since 7d --utm-source meta --format ndjson | wc -l',
    ],
  })
    .addOption(
      new Option('--format <format>', 'csv or ndjson').choices(['csv', 'ndjson']).default('csv'),
    )
    .option('--workspace <workspace>', 'of this one: name or id; needless with --link')
    .option('--link <link>', 'only those that a submission of this link reached')
    .option('--since <time>', 'created from then on: a time, a date, or how long ago (7d)', past)
    .option('--until <time>', 'created before then', past)
    .option('--output <file>', 'write it there and not to the standard output');
  for (const mark of UTM_FIELDS)
    command.option(`--${dashed(mark)} <text>`, `only with this ${mark}, first or last`);
  command.action((options: ExportOptions) => exportAll(context, options));
}

const dashed = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

async function exportAll(context: Context, options: ExportOptions): Promise<void> {
  const { session } = context;
  const { link, workspace, since, until, format, output } = options;
  const found = link === undefined ? null : await findLinkNamed(session.store(), link);
  const workspaceId = found?.workspaceId ?? (await workspaceOf(context, workspace));
  const utm = Object.fromEntries(UTM_FIELDS.map((mark) => [mark, options[mark]]));
  const { export: write } = await loadNoun('lead');
  const linkId = found?.id;
  const file = await call(context, write, { workspaceId, format, linkId, since, until, ...utm });
  await writeOut(context, file, output, 'lead');
}

/** Writes a file where it was asked for: to a path, else to the standard output. */
export async function writeOut(
  { io }: Context,
  file: TextFile,
  output: string | undefined,
  noun: 'lead' | 'consent',
): Promise<void> {
  if (output === undefined)
    for await (const text of file.texts) {
      io.out(file.type.endsWith('ndjson') ? showableJson(text) : text);
      await io.drained?.();
    }
  else {
    await writeFile(resolve(io.cwd, output), file.texts);
    remark(io, `${count(file.rows(), noun)} written to ${showable(output)}.`);
  }
}

/** The workspace that is named, or the only one that there is. */
export async function workspaceOf(context: Context, named: string | undefined): Promise<string> {
  if (named !== undefined) return (await findWorkspace(context.session.store(), named)).id;
  const [only, ...others] = await call(context, (await loadNoun('workspace')).list, {});
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
