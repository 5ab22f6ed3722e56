import type { FailedJobDetails } from '@leadgate/queue';
import type { Command } from 'commander';
import { call, unknownIn } from '../call.ts';
import { addCommand, answer, answerList, type Context, type JsonOption } from '../command.ts';
import { EXIT, Failure, stopOnInterrupt } from '../io.ts';
import { bodyText } from '../print/showable.ts';
import { count, pairs, shortTime } from '../print/table.ts';
import { rate, wholeNumber } from '../read.ts';

interface ListOptions extends JsonOption {
  byReason?: boolean;
  reason?: string;
  before?: string;
  limit: number;
}

interface RetryOptions extends JsonOption {
  reason?: string;
  all?: boolean;
  rate?: number;
  dryRun?: boolean;
}

const ID = 'id of the job: that of its submission, unless it is a replay';

export function addFailedCommands(failed: Command, context: Context): void {
  addCommand(failed, 'list', {
    summary: 'List failed jobs, newest first, or their reasons.',
    examples: ['failed list --by-reason', 'failed list --reason "failed with RangeError"'],
  })
    .option('--by-reason', 'how many there are of each reason')
    .option('--reason <text>', 'only of this reason')
    .option('--before <id>', 'only those after this one in the list: the next page')
    .option('--limit <n>', 'how many at most', wholeNumber, 50)
    .action((options: ListOptions) => list(context, options));

  addCommand(failed, 'show', {
    summary: 'Show a failed job and what it carries.',
    examples: ['failed show 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52'],
  })
    .argument('<id>', ID)
    .action(async (id: string, options: JsonOption) => {
      const job = await call(context, 'failed.show', { jobId: id }, { words });
      answer(context.io, options, job, () => jobText(job));
    });

  addCommand(failed, 'retry', {
    summary: 'Retry failed jobs with all their attempts: one, those of a reason, or all.',
    details: 'Applying a submission twice changes nothing, so this is always safe.',
    examples: [
      'failed retry 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52',
      'failed retry --all --rate 50/s',
    ],
  })
    .argument('[id]', ID)
    .option('--reason <text>', 'all of this reason')
    .option('--all', 'all that have failed until now')
    .option('--rate <rate>', 'how many at most: 50/s, 600/m', rate)
    .option('--dry-run', 'say how many there are, and change nothing')
    .action(async (id: string | undefined, options: RetryOptions) => {
      const { reason, all = false } = options;
      if ([id !== undefined, reason !== undefined, all].filter(Boolean).length !== 1)
        throw new Failure('Say which: the id of one, --reason, or --all; one of them.', EXIT.usage);
      return id === undefined ? retryMany(context, options) : retryOne(context, id, options);
    });

  addCommand(failed, 'discard', {
    summary: 'Take a failed job out of the queue for good.',
    details: 'What it carried is kept in Postgres, in discarded_submission, with the reason.',
    examples: [
      'failed discard 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52 --reason "sent by a load test"',
    ],
  })
    .argument('<id>', ID)
    .requiredOption('--reason <text>', 'why it is given up')
    .action(async (jobId: string, { reason, ...options }: JsonOption & { reason: string }) => {
      if (reason.trim() === '') throw new Failure('Say why it is given up: --reason.', EXIT.usage);
      await call(context, 'failed.discard', { jobId, reason: reason.trim() }, { words });
      const outcome = { kind: 'discarded' };
      answer(
        context.io,
        options,
        outcome,
        () => 'Discarded; what it carried is kept in Postgres.\n',
      );
    });
}

async function list(context: Context, options: ListOptions): Promise<void> {
  const { io } = context;
  if (options.byReason === true) {
    const reasons = await call(context, 'failed.reasons', {});
    return answerList(io, options, reasons, {
      none: 'No job has failed.',
      head: ['jobs', 'oldest', 'newest', 'reason'],
      row: ({ jobs: n, oldest, newest, reason }) => [
        n,
        shortTime(oldest),
        shortTime(newest),
        reason,
      ],
    });
  }
  const { reason, before, limit } = options;
  const found = await call(context, 'failed.list', { reason, before, limit });
  answerList(io, options, found, {
    none: 'No failed job found.',
    head: ['failed', 'job', 'reason'],
    row: ({ failedAt, jobId, reason: why }) => [shortTime(failedAt), jobId, why],
    limit,
    next: ({ jobId }) => `--before ${jobId}`,
  });
}

async function retryOne(context: Context, jobId: string, options: RetryOptions): Promise<void> {
  const dryRun = options.dryRun === true;
  if (dryRun) await call(context, 'failed.show', { jobId }, { words });
  else await call(context, 'failed.retry', { jobId }, { words });
  answer(context.io, options, { retried: 1 }, () =>
    dryRun ? 'It would be retried.\n' : 'Retried.\n',
  );
}

async function retryMany(context: Context, options: RetryOptions): Promise<void> {
  const { reason, rate: perSecond, dryRun } = options;
  const interrupt = stopOnInterrupt();
  try {
    const { signal } = interrupt;
    const result = await call(
      context,
      'failed.retryAll',
      { reason, perSecond, dryRun },
      { signal },
    );
    const { retried, gone, stopped } = result;
    const done = dryRun === true ? 'would be retried' : 'retried';
    const others = gone > 0 ? `, ${gone} were gone` : '';
    answer(context.io, options, result, () => `${count(retried, 'job')} ${done}${others}.\n`);
    if (stopped) throw new Failure('stopped; the others wait for the same command.', EXIT.stopped);
  } finally {
    interrupt.close();
  }
}

const words = unknownIn('failed');

function jobText({
  jobId,
  reason,
  failedAt,
  attempts,
  replay,
  submission,
}: Omit<FailedJobDetails, 'data'>): string {
  const head = pairs([
    ['Job', jobId],
    ['Reason', reason],
    ['Failed', shortTime(failedAt)],
    ['Attempts', attempts],
    ['Kind', replay ? 'replay of a stored submission' : 'submission'],
    ...(submission === null
      ? [['Content', 'not readable by this version'] as const]
      : ([
          ['Submission', submission.id],
          ['Lead', submission.leadId],
          ['Workspace', submission.workspaceId],
          ['Link', submission.linkId],
          ['Accepted', shortTime(new Date(submission.order / 1_000))],
          ['Page', submission.page ?? null],
        ] as const)),
  ]);
  if (submission === null) return head;
  return `${head}\n${bodyText('sent', submission)}`;
}
