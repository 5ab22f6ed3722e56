import { discardFailed, retryFailed, type RetryFailedOptions } from '@leadgate/operations';
import {
  openFailedJobs,
  type FailedJob,
  type FailedJobDetails,
  type FailedJobs,
} from '@leadgate/queue';
import type { Command } from 'commander';
import { addCommand, addNoun, answer, remark, type Context, type JsonOption } from '../command.ts';
import { EXIT, Failure } from '../failure.ts';
import { stopOnInterrupt } from '../interrupt.ts';
import { count } from '../print/count.ts';
import { showable } from '../print/showable.ts';
import { pairs, table } from '../print/table.ts';
import { shortTime } from '../print/time.ts';
import { rate } from '../read/rate.ts';
import { wholeNumber } from '../read/whole-number.ts';

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

export function addFailedCommands(program: Command, context: Context): void {
  const failed = addNoun(
    program,
    'failed',
    'Look at accepted submissions that could not be applied, and retry them.',
  );

  addCommand(failed, 'list', {
    summary: 'List failed jobs, newest first, or their reasons.',
    examples: ['failed list --by-reason', 'failed list --reason "failed with RangeError"'],
  })
    .option('--by-reason', 'how many there are of each reason')
    .option('--reason <text>', 'only of this reason')
    .option('--before <id>', 'only those after this one in the list: the next page')
    .option('--limit <n>', 'how many at most', wholeNumber, 50)
    .action((options: ListOptions) => withFailed(context, (jobs) => list(context, jobs, options)));

  addCommand(failed, 'show', {
    summary: 'Show a failed job and what it carries.',
    examples: ['failed show 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52'],
  })
    .argument('<id>', ID)
    .action((id: string, options: JsonOption) =>
      withFailed(context, (jobs) => show(context, jobs, id, options)),
    );

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
    .action((id: string | undefined, options: RetryOptions) =>
      withFailed(context, (jobs) => retry(context, jobs, id, options)),
    );

  addCommand(failed, 'discard', {
    summary: 'Take a failed job out of the queue for good.',
    details: 'What it carried is kept in Postgres, in discarded_submission, with the reason.',
    examples: [
      'failed discard 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52 --reason "sent by a load test"',
    ],
  })
    .argument('<id>', ID)
    .requiredOption('--reason <text>', 'why it is given up')
    .action((id: string, options: JsonOption & { reason: string }) =>
      withFailed(context, (jobs) => discard(context, jobs, id, options)),
    );
}

async function withFailed(
  { session }: Context,
  use: (jobs: FailedJobs) => Promise<void>,
): Promise<void> {
  const jobs = openFailedJobs(await session.redis());
  try {
    await use(jobs);
  } finally {
    await jobs.close();
  }
}

async function list({ io }: Context, jobs: FailedJobs, options: ListOptions): Promise<void> {
  if (options.byReason === true) {
    const { reasons, looked, all } = await jobs.reasons();
    if (!all) remark(io, `these are the reasons of the newest ${count(looked, 'failed job')}.`);
    return answer(io, options, reasons, () =>
      reasons.length === 0
        ? 'No job has failed.\n'
        : table(
            ['jobs', 'oldest', 'newest', 'reason'],
            reasons.map(({ jobs: n, oldest, newest, reason }) => [
              n,
              shortTime(oldest),
              shortTime(newest),
              reason,
            ]),
          ),
    );
  }
  const found = await firstOf(jobs, options);
  answer(io, options, found, () =>
    found.length === 0
      ? 'No failed job found.\n'
      : table(
          ['failed', 'job', 'reason'],
          found.map(({ failedAt, jobId, reason }) => [shortTime(failedAt), jobId, reason]),
        ),
  );
  const last = found.at(-1);
  if (last !== undefined && found.length === options.limit)
    remark(io, `there may be more: add --before ${last.jobId}`);
}

async function firstOf(
  jobs: FailedJobs,
  { reason, before, limit }: ListOptions,
): Promise<FailedJob[]> {
  const found: FailedJob[] = [];
  const filter = {
    ...(reason !== undefined && { reason }),
    ...(before !== undefined && { before }),
  };
  for await (const page of jobs.pages('newest-first', filter)) {
    found.push(...page);
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}

async function show(
  { io }: Context,
  jobs: FailedJobs,
  id: string,
  options: JsonOption,
): Promise<void> {
  const job = await jobs.show(id);
  if (job === null) throw notFailed(id);
  answer(io, options, job, () => jobText(job));
}

async function retry(
  context: Context,
  jobs: FailedJobs,
  id: string | undefined,
  options: RetryOptions,
): Promise<void> {
  const { reason, all = false } = options;
  if ([id !== undefined, reason !== undefined, all].filter(Boolean).length !== 1)
    throw new Failure('Say which: the id of one, --reason, or --all; one of them.', EXIT.usage);
  if (id !== undefined) return retryOne(context, jobs, id, options);
  return retryMany(context, jobs, options);
}

async function retryOne(
  { io }: Context,
  jobs: FailedJobs,
  id: string,
  options: RetryOptions,
): Promise<void> {
  const dryRun = options.dryRun === true;
  const found = dryRun ? (await jobs.show(id)) !== null : await jobs.retry(id);
  if (!found) throw notFailed(id);
  answer(io, options, { retried: 1 }, () => (dryRun ? 'It would be retried.\n' : 'Retried.\n'));
}

async function retryMany(
  { io }: Context,
  jobs: FailedJobs,
  { reason, rate: perSecond, dryRun = false, json }: RetryOptions,
): Promise<void> {
  const interrupt = stopOnInterrupt();
  const settings: RetryFailedOptions = {
    dryRun,
    signal: interrupt.signal,
    ...(perSecond !== undefined && { perSecond }),
  };
  try {
    const filter = reason === undefined ? {} : { reason };
    const result = await retryFailed(jobs, filter, settings);
    const { retried, gone, stopped } = result;
    const done = dryRun
      ? `${count(retried, 'job')} would be retried`
      : `${count(retried, 'job')} retried`;
    const others = gone > 0 ? `, ${gone} were gone` : '';
    answer(io, { ...(json !== undefined && { json }) }, result, () => `${done}${others}.\n`);
    if (stopped) throw new Failure('stopped; the others wait for the same command.', EXIT.stopped);
  } finally {
    interrupt.close();
  }
}

async function discard(
  { io, session }: Context,
  jobs: FailedJobs,
  id: string,
  options: JsonOption & { reason: string },
): Promise<void> {
  const reason = options.reason.trim();
  if (reason === '') throw new Failure('Say why it is given up: --reason.', EXIT.usage);
  const outcome = await discardFailed({ store: session.store(), failed: jobs }, id, reason);
  if (outcome.kind === 'unknown') throw notFailed(id);
  answer(io, options, outcome, () => 'Discarded; what it carried is kept in Postgres.\n');
}

function notFailed(id: string): Failure {
  return new Failure(
    `No failed job has the id "${showable(id)}"; leadgate failed list shows those there are.`,
  );
}

function jobText({
  jobId,
  reason,
  failedAt,
  attempts,
  replay,
  submission,
}: FailedJobDetails): string {
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
  return `${head}\nBody as sent (${submission.bodyType}):\n${submission.body.split('\n').map(showable).join('\n')}\n`;
}
