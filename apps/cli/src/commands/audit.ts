import type { Command } from 'commander';
import { call } from '../call.ts';
import { answerList, type Context, describe, type JsonOption } from '../command.ts';
import { shortTime } from '../print/table.ts';
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

async function list(context: Context, options: AuditOptions): Promise<void> {
  const { io } = context;
  const { who, action, since, before, limit } = options;
  const asked = { actor: who, action, since, before, limit };
  const entries = await call(context, 'audit.list', asked);
  answerList(io, options, entries, {
    none: 'Nothing was done.',
    head: ['when', 'who', 'by', 'what', 'ended', 'on'],
    row: ({ at, actor, action, outcome, subject }) => [
      shortTime(at),
      actor.name,
      actor.kind,
      action,
      outcome,
      Object.entries(subject)
        .map(([name, value]) => `${name} ${value}`)
        .join(', '),
    ],
    limit,
    next: ({ id }) => `--before ${id}`,
  });
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
  const leadId = lead === undefined ? undefined : readId(lead, 'lead');
  const found = await call(context, 'audit.reads', { leadId, actor: who, since, before, limit });
  answerList(io, options, found, {
    none: 'Nothing was read.',
    head: ['when', 'who', 'by', 'what', 'leads'],
    row: ({ at, actor, action, leadIds }) => [
      shortTime(at),
      actor.name,
      actor.kind,
      action,
      leadIds.length > 3 ? `${leadIds.length} leads` : leadIds.join(', '),
    ],
    limit,
    next: ({ id }) => `--before ${id}`,
  });
}
