import { Command, CommanderError } from 'commander';
import { readFileSync } from 'node:fs';
import { addAudit } from './commands/audit.ts';
import { addDoctor } from './commands/doctor.ts';
import { addFailedCommands } from './commands/failed.ts';
import { addFieldCommands } from './commands/field.ts';
import { addHeldCommands } from './commands/held.ts';
import { addImport } from './commands/import.ts';
import { addLeadCommands } from './commands/lead.ts';
import { addLinkCommands } from './commands/link.ts';
import { addMigrate } from './commands/migrate.ts';
import { addOperatorCommands } from './commands/operator.ts';
import { addQueueCommands } from './commands/queue.ts';
import { addRebuild } from './commands/rebuild.ts';
import { addRejectedCommands } from './commands/rejected.ts';
import { addReplay } from './commands/replay.ts';
import { addRetentionCommands } from './commands/retention.ts';
import { addShardsCommands } from './commands/shards.ts';
import { addSpoolCommands } from './commands/spool.ts';
import { addSubmissionCommands } from './commands/submission.ts';
import { addTokenCommands } from './commands/token.ts';
import { addTail } from './commands/tail.ts';
import { addWorkspaceCommands } from './commands/workspace.ts';
import { remark, type Context } from './command.ts';
import { explain } from './explain.ts';
import { EXIT } from './failure.ts';
import type { Io } from './io.ts';
import { createRecorder } from './on-record.ts';
import { showable } from './print/showable.ts';
import { openSession } from './session.ts';

const ABOUT = `
Servers: DATABASE_URL and REDIS_URL, else those of npm start (.leadgate/run.json in the
current folder or above it, or in LEADGATE_HOME). RECEIVER_URL: where senders reach the
receiver, to print whole capture URLs.

Audit log: whatever acts is on record (leadgate audit), under the name of the user of this system,
or LEADGATE_OPERATOR.

Exit status: 0 done; 1 failed or not found; 2 wrong usage or settings; 3 a server cannot
be reached; 130 stopped in order by Ctrl-C, before all was done.`;

/**
 * Runs one command line (without node and script) and returns its exit status. What went wrong is
 * said in one sentence on the standard error output; nothing is thrown.
 */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const session = openSession(io);
  const recorder = createRecorder(session.store, io);
  try {
    await buildProgram({ io, session })
      .hook('preAction', (_program, command) => recorder.begin(command))
      .parseAsync(argv, { from: 'user' });
    const missing = await recorder.end(null);
    if (missing !== null) remark(io, missing);
    return EXIT.ok;
  } catch (error) {
    // Commander has written its own message, or the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    await recorder.end(error);
    const { sentence, status } = explain(error, session);
    io.err(`leadgate: ${sentence}\n`);
    return status;
  } finally {
    await session.close();
  }
}

/** Every command there is, on a program that has not run yet. */
export function buildProgram(context: Context): Command {
  const { io } = context;
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
  addWorkspaceCommands(program, context);
  addFieldCommands(program, context);
  addLinkCommands(program, context);
  addLeadCommands(program, context);
  addSubmissionCommands(program, context);
  addHeldCommands(program, context);
  addRejectedCommands(program, context);
  addFailedCommands(program, context);
  addQueueCommands(program, context);
  addReplay(program, context);
  addImport(program, context);
  addTail(program, context);
  addOperatorCommands(program, context);
  addTokenCommands(program, context);
  addAudit(program, context);
  addRetentionCommands(program, context);
  addShardsCommands(program, context);
  addSpoolCommands(program, context);
  addDoctor(program, context);
  addRebuild(program, context);
  addMigrate(program, context);
  return program;
}

/** Commander's message, with what to do where it does not say it. */
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
