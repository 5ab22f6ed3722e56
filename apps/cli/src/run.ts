import { Command, CommanderError } from 'commander';
import { readFileSync } from 'node:fs';
import type { Context } from './command.ts';
import { type CommandEntry, COMMANDS } from './commands.ts';
import { EXIT, type Io } from './io.ts';
import { showable } from './print/showable.ts';

const ABOUT = `
Servers: DATABASE_URL and REDIS_URL, else those of npm start (.leadgate/run.json in the
current folder or above it, or in LEADGATE_HOME). RECEIVER_URL: where senders reach the
receiver, to print whole capture URLs.

Audit log: whatever acts is on record (leadgate audit), under the name of the user of this system,
or LEADGATE_OPERATOR.

Exit status: 0 done; 1 failed or not found; 2 wrong usage or settings; 3 a server cannot
be reached; 4 what was asked for was erased; 130 stopped in order by Ctrl-C, before all was done.`;

/**
 * Runs one command line (without node and script) and returns its exit status. What went wrong is
 * said in one sentence on the standard error output; nothing is thrown.
 */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const program = createProgram(io);
  const named = COMMANDS.filter(({ name }) => argv.includes(name));
  try {
    if (named.length > 0) return await runNamed(program, named, argv, io);
    await program.parseAsync(argv, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    // Commander has written its own message, or the help that was asked for.
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
}

async function runNamed(
  program: Command,
  named: readonly CommandEntry[],
  argv: readonly string[],
  io: Io,
): Promise<number> {
  const { performCommand } = await import('./perform.ts');
  return performCommand(io, async (context, begin) => {
    await fill(program, named, context);
    await program
      .hook('preAction', (_program, command) => begin(command))
      .parseAsync(argv, { from: 'user' });
  });
}

/** Every command there is, on a program that has not run yet. */
export async function wholeProgram(context: Context): Promise<Command> {
  const program = createProgram(context.io);
  await fill(program, COMMANDS, context);
  return program;
}

/** A program that knows each command by its name and summary only. */
function createProgram(io: Io): Command {
  const program = new Command('leadgate')
    .description('Workspaces, capture links, custom fields and leads of Leadgate, at a prompt.')
    .version(version(), '--version', 'print the version')
    .addHelpText('after', ABOUT)
    .exitOverride()
    .configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      outputError: (text, write) => write(`leadgate: ${usageSentence(text)}\n`),
    })
    .configureHelp({ showGlobalOptions: false })
    .showSuggestionAfterError();
  for (const { name, summary } of COMMANDS)
    program.command(name).summary(summary).description(summary);
  return program;
}

async function fill(
  program: Command,
  entries: readonly CommandEntry[],
  context: Context,
): Promise<void> {
  for (const { name, load } of entries) {
    const command = program.commands.find((one) => one.name() === name);
    if (command !== undefined) (await load())(command, context);
  }
}

/** Commander's message, with what to do if it does not say it. */
function usageSentence(text: string): string {
  const message = text
    .replace(/^error: /, '')
    .trim()
    .split('\n')
    .map(showable)
    .join(' ');
  return /[.?)]$/.test(message) ? message : `${message}: add --help to see how it is used.`;
}

function version(): string {
  const file = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(file) as { version: string }).version;
}
