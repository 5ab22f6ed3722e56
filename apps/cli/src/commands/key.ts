import type { Command } from 'commander';
import { call } from '../call.ts';
import { addCommand, answer, type Context, type JsonOption } from '../command.ts';
import { EXIT, Failure, stopOnInterrupt } from '../io.ts';
import { count } from '../print/table.ts';

interface RotateOptions extends JsonOption {
  dryRun?: boolean;
}

export function addKeyCommands(key: Command, context: Context): void {
  addCommand(key, 'rotate', {
    summary: 'Encrypt every secret under SECRETS_KEY that is under another key, or plain.',
    details:
      'Secrets of endpoints, CAPTCHAs, senders and authenticators. SECRETS_KEY_BEFORE is the key that is to go; processes read secrets under either while they have both. Stopped or done twice, it does what is left. Exit status 1: some are under neither key, and stay as they are.',
    examples: ['key rotate --dry-run', 'key rotate'],
  })
    .option('--dry-run', 'count, and change nothing')
    .action((options: RotateOptions) => rotate(context, options));
}

async function rotate(context: Context, options: RotateOptions): Promise<void> {
  const { dryRun = false } = options;
  const interrupt = stopOnInterrupt();
  const done = await call(context, 'key.rotate', { dryRun }, { signal: interrupt.signal }).finally(
    interrupt.close,
  );
  answer(context.io, options, done, () =>
    [
      `${dryRun ? 'Would encrypt' : 'Encrypted'} under key ${done.key}:`,
      ...done.holders.map(
        ({ holder, current, renewed, unreadable }) =>
          `  ${count(renewed, 'secret')} of ${holder}s; ${current.toString()} were already, ${unreadable.toString()} cannot be read`,
      ),
      '',
    ].join('\n'),
  );
  const unreadable = done.holders.reduce((sum, holder) => sum + holder.unreadable, 0);
  if (unreadable > 0)
    throw new Failure(
      `${count(unreadable, 'secret')} cannot be read: set SECRETS_KEY_BEFORE to the key that encrypted them, or give them anew.`,
      EXIT.failed,
    );
}
