import type { Command } from 'commander';
import type { Io } from './io.ts';
import { showableJson } from './print/showable.ts';
import { type Cell, table } from './print/table.ts';
import type { Session } from './session.ts';

/** What a command works with. */
export interface Context {
  io: Io;
  session: Session;
}

export interface JsonOption {
  json?: boolean;
}

interface Help {
  details?: string;
  examples: [string, ...string[]];
}

/** Adds a command that answers in tables, or in JSON with `--json`, and whose help has examples. */
export function addCommand(
  parent: Command,
  usage: string,
  { summary, ...help }: Help & { summary: string },
): Command {
  return describe(parent.command(usage).summary(summary), help);
}

/** Makes of a command that has its name and summary what `addCommand` adds. */
export function describe(command: Command, { details, examples }: Help): Command {
  const lines = examples.map((example) => `  $ leadgate ${example}\n`).join('');
  return command
    .description([command.summary(), details ?? ''].join(' ').trim())
    .option('--json', 'print JSON, for programs')
    .addHelpText('after', `\nExample:\n${lines.trimEnd()}`);
}

/** Gathers the values of an option that may be repeated. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/** Answers a command: the value as JSON if that was asked for, else the text for people. */
export function answer(io: Io, options: JsonOption, value: unknown, text: () => string): void {
  io.out(options.json === true ? `${showableJson(JSON.stringify(value, null, 2))}\n` : text());
}

/** A list as it is answered: `next` is the option by which it goes on after a page of `limit`. */
interface List<T> {
  none: string;
  head: readonly string[];
  row: (one: T) => readonly Cell[];
  limit?: number;
  next?: (last: T) => string;
}

/** Answers with a list: in columns, or by a sentence that says that there is none. */
export function answerList<T>(
  io: Io,
  options: JsonOption,
  list: readonly T[],
  { none, head, row, limit, next }: List<T>,
): void {
  answer(io, options, list, () => (list.length === 0 ? `${none}\n` : table(head, list.map(row))));
  const last = list.at(-1);
  if (next !== undefined && last !== undefined && list.length === limit)
    remark(io, `there may be more: add ${next(last)}`);
}

/** Tells people something beside the answer, without being in a program's way. */
export function remark(io: Io, sentence: string): void {
  io.err(`leadgate: ${sentence}\n`);
}
