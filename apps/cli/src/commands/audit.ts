import { loadNoun } from '@leadgate/operations';
import type { AuditEntry } from '@leadgate/store';
import type { Command } from 'commander';
import { call } from '../call.ts';
import { answer, type Context, describe, type JsonOption, remark } from '../command.ts';
import type { Io } from '../io.ts';
import { shortTime, table } from '../print/table.ts';
import { past, readId, wholeNumber } from '../read.ts';

interface PageOptions extends JsonOption {
  who?: string;
  since?: Date;
  before?: number;
  limit: number;
}

interface AuditOptions extends PageOptions {
  action?: string;
}

export function addAudit(command: Command, context: Context): void {
  describe(command, {
    details: 'What ended as - was begun, and nobody knows how it ended.',
    examples: ['audit --since 2h', 'audit --who "Ana Souza" --action link'],
  })
    .option('--who <name>', 'only of this operator, token or user of a system')
    .option('--action <name>', 'only of this name (link.disable), or of this noun (link)')
    .action((options: AuditOptions) => list(context, options));
  addPage(command);
}

/** What a list has that is read page by page, newest first. */
function addPage(command: Command): void {
  command
    .option('--since <time>', 'only from then on: a time, a date, or how long ago (2h)', past)
    .option('--before <id>', 'only those before this one: the next page', wholeNumber)
    .option('--limit <n>', 'how many at most', wholeNumber, 50);
}

/** Says how to go on if a page is full. */
function remarkMore(io: Io, page: readonly { id: number }[], limit: number): void {
  const last = page.at(-1);
  if (last !== undefined && page.length === limit)
    remark(io, `there may be more: add --before ${last.id}`);
}

async function list(context: Context, options: AuditOptions): Promise<void> {
  const { io } = context;
  const { who, action, since, before, limit } = options;
  const { list: listEntries } = await loadNoun('audit');
  const asked = { actor: who, action, since, before, limit };
  const entries = await call(context, listEntries, asked);
  answer(io, options, entries, () =>
    entries.length === 0 ? 'Nothing was done.\n' : auditTable(entries),
  );
  remarkMore(io, entries, limit);
}

function auditTable(entries: readonly AuditEntry[]): string {
  return table(
    ['when', 'who', 'by', 'what', 'ended', 'on'],
    entries.map(({ at, actor, action, outcome, subject }) => [
      shortTime(at),
      actor.name,
      actor.kind,
      action,
      outcome,
      Object.entries(subject)
        .map(([name, value]) => `${name} ${value}`)
        .join(', '),
    ]),
  );
}

interface ReadsOptions extends PageOptions {
  lead?: string;
}

export function addReads(command: Command, context: Context): void {
  describe(command, {
    details: 'Finds, lists, single leads, exports and downloads, by every door.',
    examples: ['reads --lead 7c9e6679-7425-40de-944b-e07fc1f90ae7', 'reads --who "Ana Souza"'],
  })
    .option('--lead <id>', 'only of this lead, under all its ids')
    .option('--who <name>', 'only by this operator, token or user of a system')
    .action((options: ReadsOptions) => listReads(context, options));
  addPage(command);
}

async function listReads(context: Context, options: ReadsOptions): Promise<void> {
  const { io } = context;
  const { lead, who, since, before, limit } = options;
  const { reads } = await loadNoun('audit');
  const leadId = lead === undefined ? undefined : readId(lead, 'lead');
  const found = await call(context, reads, { leadId, actor: who, since, before, limit });
  answer(io, options, found, () =>
    found.length === 0
      ? 'Nothing was read.\n'
      : table(
          ['when', 'who', 'by', 'what', 'leads'],
          found.map(({ at, actor, action, leadIds }) => [
            shortTime(at),
            actor.name,
            actor.kind,
            action,
            leadIds.length > 3 ? `${leadIds.length} leads` : leadIds.join(', '),
          ]),
        ),
  );
  remarkMore(io, found, limit);
}
