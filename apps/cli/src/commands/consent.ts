import type { Command } from 'commander';
import { call } from '../call.ts';
import { addCommand, answer, type Context, type JsonOption } from '../command.ts';
import { consentTable } from '../print/lead.ts';
import { past, readId } from '../read.ts';
import { workspaceOf, writeOut } from './lead-export.ts';

const LEAD = 'any id of the lead that was ever answered';

interface ExportOptions extends JsonOption {
  workspace?: string;
  since?: Date;
  until?: Date;
  output?: string;
}

export function addConsentCommands(consent: Command, context: Context): void {
  addCommand(consent, 'list', {
    summary: 'List what a person granted, refused and withdrew, newest first.',
    examples: ['consent list 7c9e6679-7425-40de-944b-e07fc1f90ae7'],
  })
    .argument('<id>', LEAD)
    .action(async (id: string, options: JsonOption) => {
      const consents = await call(context, 'consent.list', { leadId: readId(id, 'lead') });
      answer(context.io, options, consents, () => consentTable(consents) || 'None was recorded.\n');
    });

  addCommand(consent, 'export', {
    summary: 'Write the proofs of consent of a workspace as JSON line by line.',
    details:
      'They outlive submissions, and of a person who was erased they say nothing about them.',
    examples: [
      'consent export --workspace "My agency" --output consents.ndjson',
      'consent export --since 30d | wc -l',
    ],
  })
    .option('--workspace <workspace>', 'of this one: name or id')
    .option('--since <time>', 'recorded from then on: a time, a date, or how long ago (7d)', past)
    .option('--until <time>', 'recorded before then', past)
    .option('--output <file>', 'write it there and not to the standard output')
    .action(async (options: ExportOptions) => {
      const { since, until, output } = options;
      const workspaceId = await workspaceOf(context, options.workspace);
      const file = await call(context, 'consent.export', { workspaceId, since, until });
      await writeOut(context, file, output, 'consent');
    });

  addCommand(consent, 'withdraw', {
    summary: 'Withdraw a consent for a person who asked for it.',
    details: 'What was granted stays as proof, and the withdrawal stands beside it.',
    examples: ['consent withdraw 7c9e6679-7425-40de-944b-e07fc1f90ae7 --text "asked by telephone"'],
  })
    .argument('<id>', LEAD)
    .option('--text <words>', 'how they asked: it stays with the withdrawal')
    .action(async (id: string, { text, ...options }: JsonOption & { text?: string }) => {
      const taken = await call(context, 'consent.withdraw', { leadId: readId(id, 'lead'), text });
      answer(
        context.io,
        options,
        taken,
        () => `Taken, as submission ${taken.submissionId} of lead ${taken.leadId}.\n`,
      );
    });

  addCommand(consent, 'link', {
    summary: 'Show the link by which a person withdraws their consent, for mails to them.',
    details: 'A page in Portuguese, English or Spanish with one button. It does not expire.',
    examples: ['consent link 7c9e6679-7425-40de-944b-e07fc1f90ae7'],
  })
    .argument('<id>', LEAD)
    .action(async (id: string, options: JsonOption) => {
      const shown = await call(context, 'consent.link', { leadId: readId(id, 'lead') });
      answer(context.io, options, shown, () => `${shown.url}\n`);
    });
}
