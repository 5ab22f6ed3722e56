import { RUN_KINDS, type Run, type RunKind } from '@leadgate/store';
import { type Command, Option } from 'commander';
import { setTimeout as delay } from 'node:timers/promises';
import { call } from '../call.ts';
import {
  addCommand,
  answer,
  answerList,
  type Context,
  type JsonOption,
  remark,
} from '../command.ts';
import { Failure, EXIT, stopOnInterrupt } from '../io.ts';
import { namedIds } from '../named.ts';
import { pairs, shortTime } from '../print/table.ts';
import { readId, wholeNumber } from '../read.ts';
import { printOut } from './lead-export.ts';

interface ListOptions extends JsonOption {
  workspace?: string;
  kind?: RunKind;
  limit: number;
}

const ID = 'id of the run';

export function addRunCommands(run: Command, context: Context): void {
  addCommand(run, 'list', {
    summary: 'List replays, imports, resends and reading again of the last 30 days, newest first.',
    examples: ['run list', 'run list --workspace "My agency" --kind import'],
  })
    .option('--workspace <workspace>', 'only of this workspace: name or id')
    .addOption(new Option('--kind <kind>', 'only of this kind').choices(RUN_KINDS))
    .option('--limit <n>', 'how many at most', wholeNumber, 50)
    .action((options: ListOptions) => list(context, options));

  addCommand(run, 'show', {
    summary: 'Show how far a run is.',
    examples: ['run show 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52'],
  })
    .argument('<id>', ID)
    .action((id: string, options: JsonOption) => show(context, 'show', id, options));

  addCommand(run, 'stop', {
    summary: 'Have a run stop at its next batch, in whatever process it is.',
    details: 'What was done until then stays. Twice changes nothing.',
    examples: ['run stop 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52'],
  })
    .argument('<id>', ID)
    .action((id: string, options: JsonOption) => show(context, 'stop', id, options));

  addCommand(run, 'resume', {
    summary: 'Go on here with a run that stopped, failed or was interrupted.',
    details: 'An import goes on when the same file is imported again.',
    examples: ['run resume 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52'],
  })
    .argument('<id>', ID)
    .action(async (id: string, options: JsonOption) => {
      const runId = readId(id, 'run');
      await call(context, 'run.resume', { runId });
      const run = await followRun(context, runId);
      answer(context.io, options, run, () => runText(run));
    });

  addCommand(run, 'refused', {
    summary: 'Print the rows that an import through the console refused, to mend and import again.',
    examples: ['run refused 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52 > refused.csv'],
  })
    .argument('<id>', ID)
    .action((id: string) => refused(context, id));
}

async function list(
  context: Context,
  { workspace, kind, limit, ...options }: ListOptions,
): Promise<void> {
  const given = { ...(await namedIds(context, { workspace })), kind, limit };
  const runs = await call(context, 'run.list', given);
  answerList(context.io, options, runs, {
    none: 'No run found.',
    head: ['begun', 'id', 'kind', 'by', 'state', 'progress'],
    row: (run) => [
      ...[shortTime(run.begunAt), run.id, run.kind, run.begunBy.name],
      ...[stateOf(run), countsOf(run)],
    ],
  });
}

async function show(
  context: Context,
  verb: 'show' | 'stop',
  id: string,
  options: JsonOption,
): Promise<void> {
  const run = await call(context, `run.${verb}`, { runId: readId(id, 'run') });
  answer(context.io, options, run, () => runText(run));
}

async function refused(context: Context, id: string): Promise<void> {
  const file = await call(context, 'run.refused', { runId: readId(id, 'run') });
  await printOut(context.io, file);
}

const LOOK_EVERY_MS = 200;

/**
 * Waits for a run of this process to end, and stops it in order on an interrupt. Rejects with a Failure if it
 * did not end well.
 */
export async function followRun(context: Context, id: string): Promise<Run> {
  const interrupt = stopOnInterrupt();
  interrupt.signal.addEventListener('abort', () => void context.session.runner.close());
  try {
    for (;;) {
      const run = await call(context, 'run.show', { runId: id });
      if (run.state === 'done') return run;
      if (run.state === 'stopped')
        throw new Failure(`stopped. To go on: leadgate run resume ${id}`, EXIT.stopped);
      if (run.state !== 'running') {
        remark(context.io, `to go on: leadgate run resume ${id}`);
        throw new Failure(run.problem ?? 'It was interrupted.');
      }
      await delay(LOOK_EVERY_MS);
    }
  } finally {
    interrupt.close();
  }
}

const stateOf = ({ state, stopping }: Run): string => (stopping ? 'stopping' : state);
const countsOf = ({ progress }: Run): string =>
  Object.entries(progress)
    .map(([name, n]) => `${n.toLocaleString('en')} ${name}`)
    .join(', ');

function runText(run: Run): string {
  return pairs([
    ['Run', run.id],
    ['Kind', run.kind],
    ['State', stateOf(run)],
    ['Progress', countsOf(run)],
    ['Problem', run.problem],
    ['Begun', `${shortTime(run.begunAt)} by ${run.begunBy.name}`],
    ['Last heard of', shortTime(run.changedAt)],
    ['Ended', run.endedAt === null ? null : shortTime(run.endedAt)],
    ...Object.entries(run.parameters).map(([name, value]) => [name, String(value)] as const),
  ]);
}
