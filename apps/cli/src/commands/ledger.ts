import type { Command } from 'commander';
import { call } from '../call.ts';
import { answer, type Context, describe, type JsonOption, remark } from '../command.ts';
import { EXIT, Failure } from '../io.ts';
import { findLinkNamed, findWorkspace } from '../named.ts';
import { table } from '../print/table.ts';
import { past } from '../read.ts';

interface WhereOptions extends JsonOption {
  workspace?: string;
  link?: string;
}

/** The workspace of `--workspace`, else that of `--link`. */
export async function whereOf(
  { session }: Context,
  { workspace, link }: WhereOptions,
): Promise<{ workspaceId: string; linkId?: string }> {
  const store = session.store();
  const found = link === undefined ? null : await findLinkNamed(store, link);
  if (workspace === undefined && found === null)
    throw new Failure('Say which: --workspace NAME or --link LINK.', EXIT.usage);
  const workspaceId =
    workspace === undefined
      ? (found?.workspaceId ?? '')
      : (await findWorkspace(store, workspace)).id;
  return { workspaceId, ...(found !== null && { linkId: found.id }) };
}

interface LedgerOptions extends WhereOptions {
  since?: Date;
}

export function addLedger(command: Command, context: Context): void {
  describe(command, {
    details:
      'Ends with status 1 if there is a difference: submissions that were accepted and are neither there nor on their way.',
    examples: ['ledger --workspace Acme', 'ledger --link 7fK2 --since 2h'],
  })
    .option('--workspace <name>', 'of this workspace, by name or id')
    .option('--link <link>', 'only of this link, by code, id or URL')
    .option('--since <time>', 'what was counted from the hour of then on; a day if left out', past)
    .action((options: LedgerOptions) => show(context, options));
}

async function show(context: Context, options: LedgerOptions): Promise<void> {
  const where = await whereOf(context, options);
  const books = await call(context, 'ledger.show', { ...where, since: options.since });
  answer(context.io, options, books, () =>
    books.links.length === 0
      ? 'Nothing was counted.\n'
      : table(
          [
            ...['link', 'accepted', 'stored', 'held', 'failed', 'erased', 'waiting', 'difference'],
            ...['refused', 'spooled', 'delivered'],
          ],
          books.links.map((link) => [
            link.label || link.linkId,
            ...[link.accepted, link.stored, link.held, link.failed, link.erased, link.waiting],
            ...[link.difference, link.refused, link.spooled, link.delivered],
          ]),
        ),
  );
  if (books.difference === 0) return;
  for (const { linkId, difference, submissions } of books.links)
    if (difference > 0)
      remark(
        context.io,
        `${difference} accepted by link ${linkId} are missing: ${submissions.join(', ') || 'unknown which'}`,
      );
  throw new Failure('the books do not close: see the runbook, LeadgateLedgerDifference.');
}
