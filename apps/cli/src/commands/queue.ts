import type { Command } from 'commander';
import { call } from '../call.ts';
import { addCommand, answer, type Context, type JsonOption } from '../command.ts';
import { pairs, shortTime } from '../print/table.ts';

export function addQueueCommands(queue: Command, context: Context): void {
  addCommand(queue, 'stats', {
    summary: 'Show how many leads wait, and for how long the oldest has.',
    examples: ['queue stats', 'queue stats --json'],
  }).action((options: JsonOption) => run(context, 'show', options));

  addCommand(queue, 'pause', {
    summary: 'Let leads wait: they are taken, and no worker applies them.',
    details: 'What is being applied is finished. Twice changes nothing.',
    examples: ['queue pause'],
  }).action((options: JsonOption) => run(context, 'pause', options));

  addCommand(queue, 'resume', {
    summary: 'Have workers apply leads again.',
    examples: ['queue resume'],
  }).action((options: JsonOption) => run(context, 'resume', options));
}

async function run(
  context: Context,
  verb: 'show' | 'pause' | 'resume',
  options: JsonOption,
): Promise<void> {
  const standing = await call(context, `queue.${verb}`, {});
  const { oldestWaitingMs } = standing;
  answer(context.io, options, standing, () =>
    pairs([
      ['State', standing.paused ? 'paused' : 'running'],
      ['Waiting', `${standing.waiting} (${standing.background} in the background)`],
      ['Oldest since', oldestWaitingMs === null ? null : moment(oldestWaitingMs)],
      ['Being applied', standing.active],
      ['To be tried again', standing.delayed],
      ['Failed', standing.failed],
    ]),
  );
}

const moment = (agoMs: number): string => shortTime(new Date(Date.now() - agoMs));
