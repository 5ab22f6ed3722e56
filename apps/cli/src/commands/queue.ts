import { oldestWaiting, pauseQueue, queueCounts, resumeQueue } from '@leadgate/queue';
import type { Command } from 'commander';
import { addCommand, addNoun, answer, type Context, type JsonOption } from '../command.ts';
import { pairs } from '../print/table.ts';
import { shortTime } from '../print/time.ts';

export function addQueueCommands(program: Command, context: Context): void {
  const queue = addNoun(program, 'queue', 'See how the queue stands; pause and resume it.');

  addCommand(queue, 'stats', {
    summary: 'Show how many leads wait, and for how long the oldest has.',
    examples: ['queue stats', 'queue stats --json'],
  }).action((options: JsonOption) => show(context, options));

  addCommand(queue, 'pause', {
    summary: 'Let leads wait: they are taken, and no worker applies them.',
    details: 'What is being applied is finished. Twice changes nothing.',
    examples: ['queue pause'],
  }).action((options: JsonOption) => change(context, pauseQueue, options));

  addCommand(queue, 'resume', {
    summary: 'Have workers apply leads again.',
    examples: ['queue resume'],
  }).action((options: JsonOption) => change(context, resumeQueue, options));
}

async function change(
  context: Context,
  how: typeof pauseQueue,
  options: JsonOption,
): Promise<void> {
  await how(await context.session.redis());
  await show(context, options);
}

async function show({ io, session }: Context, options: JsonOption): Promise<void> {
  const redis = await session.redis();
  const [counts, oldestWaitingMs] = await Promise.all([queueCounts(redis), oldestWaiting(redis)]);
  answer(io, options, { ...counts, oldestWaitingMs }, () =>
    pairs([
      ['State', counts.paused ? 'paused' : 'running'],
      ['Waiting', `${counts.waiting} (${counts.background} in the background)`],
      ['Oldest since', oldestWaitingMs === null ? null : moment(oldestWaitingMs)],
      ['Being applied', counts.active],
      ['To be tried again', counts.delayed],
      ['Failed', counts.failed],
    ]),
  );
}

const moment = (agoMs: number): string => shortTime(new Date(Date.now() - agoMs));
