import { type Command, CommanderError } from 'commander';
import { type Context, remark } from './command.ts';
import { explain } from './explain.ts';
import { EXIT, type Io } from './io.ts';
import { createRecorder } from './on-record.ts';
import { openSession } from './session.ts';

/**
 * Runs a command with connections of its own, on record, and explains what goes wrong. Returns the
 * exit status; rejects with Commander's errors only.
 */
export async function performCommand(
  io: Io,
  run: (context: Context, begin: (command: Command) => Promise<void>) => Promise<void>,
): Promise<number> {
  const session = openSession(io);
  const recorder = createRecorder(session.store, io);
  try {
    await run({ io, session }, recorder.begin);
    const missing = await recorder.end(null);
    if (missing !== null) remark(io, missing);
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError) throw error;
    await recorder.end(error);
    const { sentence, status } = explain(error, session);
    io.err(`leadgate: ${sentence}\n`);
    return status;
  } finally {
    await session.close();
  }
}
