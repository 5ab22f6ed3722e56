import type { Command } from 'commander';
import type { Io } from './io.ts';
import { showableJson } from './print/showable.ts';
import type { Session } from './session.ts';

/** What a command works with. */
export interface Context {
  io: Io;
  session: Session;
}

export interface JsonOption {
  json?: boolean;
}

/** Adds a command that answers in tables, or in JSON with `--json`, and whose help has examples. */
export function addCommand(
  parent: Command,
  usage: string,
  help: { summary: string; details?: string; examples: [string, ...string[]] },
): Command {
  const lines = help.examples.map((example) => `  $ leadgate ${example}\n`).join('');
  return parent
    .command(usage)
    .summary(help.summary)
    .description([help.summary, help.details ?? ''].join(' ').trim())
    .option('--json', 'print JSON, for programs')
    .addHelpText('after', `\nExample:\n${lines.trimEnd()}`);
}

/** Adds a noun whose verbs are commands. */
export function addNoun(parent: Command, name: string, summary: string): Command {
  return parent.command(name).description(summary);
}

/** Gathers the values of an option that may be repeated. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/** Answers a command: the value as JSON where that was asked for, else the text for people. */
export function answer(io: Io, options: JsonOption, value: unknown, text: () => string): void {
  io.out(options.json === true ? `${showableJson(value)}\n` : text());
}

/** Tells people something beside the answer, without being in a program's way. */
export function remark(io: Io, sentence: string): void {
  io.err(`leadgate: ${sentence}\n`);
}
