import { type AuditEntry, recordAction, recordOutcome, type Store } from '@leadgate/store';
import type { Command } from 'commander';
import { whoActs } from './call.ts';
import { EXIT, Failure, type Io } from './io.ts';

/** Commands that only look, unless told to `--show` personal data. Whatever else a command is called, it acts, and is recorded. */
export const LOOKS: ReadonlySet<string> = new Set(['list', 'doctor', 'tail']);

/** Nouns whose commands run operations, which put themselves on record. */
export const RUN: ReadonlySet<string> = new Set([
  ...['workspace', 'field', 'link', 'lead', 'submission', 'held', 'rejected', 'failed', 'queue'],
  ...['operator', 'token', 'endpoint', 'delivery', 'consent', 'retention', 'run', 'replay', 'key'],
  ...['alarm', 'ledger', 'series', 'audit', 'reads'],
]);

/**
 * Options that say on what a command acts, or how far. Others are not kept: they may hold what is
 * about a person, or a secret.
 */
const TELLING: ReadonlySet<string> = new Set(['link', 'lenient', 'format', 'timeColumn']);

/** What one command line does, for the audit log. */
interface Recorder {
  /** Before a command acts. One that only looks, or is a dry run, is not recorded. */
  begin: (command: Command) => Promise<void>;
  /** After it. Returns why it is not on record, if it is not; null otherwise. */
  end: (error: unknown) => Promise<string | null>;
}

/**
 * Records what the command line does: written before it acts, with its outcome after, so that no
 * command has to think of it. If Postgres does not take the entry, a command that can do without
 * Postgres is not held up at the hour when it is needed most; the entry is then written afterwards
 * (`migrate` makes its table first), and if that fails too somebody is told.
 */
export function createRecorder(openStore: () => Store, { env }: Pick<Io, 'env'>): Recorder {
  let entry: Parameters<typeof recordAction>[1] | null = null;
  let id: number | null = null;
  return {
    begin: async (command) => {
      if (RUN.has(nounOf(command))) return;
      const { dryRun, show } = command.opts<Record<string, unknown>>();
      if (dryRun === true || (LOOKS.has(command.name()) && show !== true)) return;
      const actor = { kind: 'command-line' as const, name: whoActs(env) };
      entry = { actor, action: actionOf(command), subject: subjectOf(command), requestId: null };
      const before = entry;
      id = await attempt(() => recordAction(openStore(), before));
    },
    end: async (error) => {
      if (entry === null) return null;
      const done = entry;
      // What could not be done for want of Postgres is not there to be recorded either.
      id ??= error === null ? await attempt(() => recordAction(openStore(), done)) : null;
      if (id === null)
        return error === null ? 'this is not in the audit log: Postgres did not take it.' : null;
      const known = id;
      await attempt(() => recordOutcome(openStore(), known, outcomeOf(error)));
      return null;
    },
  };
}

/** The first word: of `shards drain` it is `shards`, of `import` itself. */
export const nounOf = (command: Command): string =>
  command.parent?.parent == null ? command.name() : command.parent.name();

/** `shards.drain`, as the console would name it. */
function actionOf(command: Command): string {
  const path: string[] = [];
  for (let at: Command | null = command; at?.parent != null; at = at.parent)
    path.unshift(at.name());
  return path.join('.');
}

function subjectOf(command: Command): Record<string, string> {
  const given = command.registeredArguments.map((argument, i): [string, unknown] => [
    argument.name(),
    command.args[i],
  ]);
  const chosen = Object.entries(command.opts<Record<string, unknown>>());
  const told = [...given, ...chosen.filter(([name]) => TELLING.has(name))];
  return Object.fromEntries(
    told.flatMap(([name, value]): [string, string][] => {
      const text = textOf(value);
      return text === null ? [] : [[name, text]];
    }),
  );
}

function textOf(value: unknown): string | null {
  if (value instanceof Date) return value.toISOString();
  if (value === true || typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value.slice(0, 200) : null;
}

function outcomeOf(error: unknown): NonNullable<AuditEntry['outcome']> {
  if (error === null) return 'done';
  if (!(error instanceof Failure)) return 'failed';
  // What was done until it was stopped is done.
  return error.status === EXIT.stopped ? 'done' : 'refused';
}

async function attempt<T>(write: () => Promise<T>): Promise<T | null> {
  try {
    return await write();
  } catch {
    return null;
  }
}
