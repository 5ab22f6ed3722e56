import { workspaceOf } from '@leadgate/store';
import { type Command, Option } from 'commander';
import { call } from '../call.ts';
import { addCommand, answer, type Context, type JsonOption } from '../command.ts';
import { EXIT, Failure } from '../io.ts';
import { namedIds } from '../named.ts';
import { pairs } from '../print/table.ts';
import { readId } from '../read.ts';

interface EraseOptions extends JsonOption {
  email?: string;
  telephone?: string;
  workspace?: string;
  reason: string;
  dryRun?: boolean;
}

/** `lead person`. */
export function addLeadPerson(lead: Command, context: Context): void {
  addCommand(lead, 'person', {
    summary: 'Write all that is known of a person as JSON, with the meaning of each part.',
    details: 'For a person who asks. It is on record that it was read.',
    examples: ['lead person 7c9e6679-7425-40de-944b-e07fc1f90ae7 > ana.json'],
  })
    .argument('<id>', 'any id of the lead that was ever answered')
    .action(async (id: string) => {
      const known = await call(context, 'lead.person', { leadId: readId(id, 'lead') });
      answer(context.io, { json: true }, known, () => '');
    });
}

/** `lead erase`. */
export function addLeadErase(lead: Command, context: Context): void {
  addCommand(lead, 'erase', {
    summary: 'Erase everything about a person. Cannot be undone.',
    details:
      'What they sent until now is gone from Postgres and Redis, and is dropped if it comes again: from a queue, a spool, a file, or an older dump if ERASURE_LEDGER is set. What stays: ids, keyed hashes, the reason, and proofs of consent without what is about the person.',
    examples: [
      'lead erase --email ana@example.com --workspace "My agency" --reason "asked by mail" --dry-run',
      'lead erase 7c9e6679-7425-40de-944b-e07fc1f90ae7 --reason "ticket 4711"',
    ],
  })
    .argument('[id]', 'any id of the lead that was ever answered')
    .addOption(new Option('--email <email>', 'the whole email').conflicts('telephone'))
    .option('--telephone <phone>', 'the whole telephone, as anyone would write it')
    .option('--workspace <workspace>', 'where the email or telephone is looked for: name or id')
    .requiredOption('--reason <text>', 'why: it stays, and must say nothing about the person')
    .option('--dry-run', 'count what would go, and change nothing')
    .action((id: string | undefined, options: EraseOptions) => erase(context, id, options));
}

async function erase(
  context: Context,
  id: string | undefined,
  { email, telephone, reason, dryRun = false, ...options }: EraseOptions,
): Promise<void> {
  const leadId = id === undefined ? undefined : readId(id, 'lead');
  let { workspaceId } = await namedIds(context, options);
  if (leadId !== undefined) {
    const of = await workspaceOf(context.session.store(), 'lead', leadId);
    if (of === null) throw new Failure(`No lead has the id ${leadId}.`);
    workspaceId = of;
  }
  if (workspaceId === undefined)
    throw new Failure('Say whom: an id, or --email or --telephone with --workspace.', EXIT.usage);
  const input = { workspaceId, leadId, email, telephone, reason, dryRun };
  const erased = await call(context, 'lead.erase', input);
  answer(context.io, options, erased, () => {
    const { leadId: kept, aliases, counts, others } = erased;
    return pairs([
      [dryRun ? 'Would erase' : 'Erased', kept],
      ['Ids that stand for it', aliases.join(', ') || 'none'],
      ['Leads', counts.leads],
      ['Identities', counts.identities],
      ['Submissions', counts.submissions],
      ['Proofs of consent kept', counts.consents],
      ['Possible duplicates', counts.possibleDuplicates],
      ['Refused bodies', counts.rejected],
      ['Held', counts.held],
      ['Discarded', counts.discarded],
      ['Failed jobs', counts.failed],
      ['Idempotency records', counts.records],
      ['Leads to look at', others.join(', ') || 'none'],
    ]);
  });
}
