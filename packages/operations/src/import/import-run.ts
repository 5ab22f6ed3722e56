import { Writable, type Readable } from 'node:stream';
import { findWorkspace, linkEntries, listFields } from '@leadgate/store';
import { Refusal, type Call, type Connections } from '../operation.ts';
import type { Outcome, Started, Task } from '../runs.ts';
import { createErrorReport, type ErrorReport } from './rows.ts';
import {
  importRows,
  type ImportOptions,
  type ImportProgress,
  type ImportResult,
  type ImportStart,
} from './import-rows.ts';
import { UnreadableInput } from './open-input.ts';

export interface ImportRequest extends Omit<
  ImportOptions,
  'link' | 'fields' | 'signal' | 'timeZone'
> {
  /** Of the run, if the sender chooses it, to look how far it is while it sends. */
  id?: string;
  linkId: string;
  /** Of times that do not say theirs; the workspace's, if left out. */
  timeZone?: string | number;
  /** Of the input; null if that is not known. */
  totalBytes: number | null;
  /** Whether refused rows are kept with the run, to be fetched. */
  keepsRefused: boolean;
}

interface StartedImport extends Started {
  /** Null if it failed. */
  result: Promise<ImportResult | null>;
}

/** Begins the import of a file, which goes on after this has answered, as a run that others see and stop. */
export async function startImport(
  connections: Connections,
  source: Readable,
  { id, linkId, timeZone, totalBytes, keepsRefused, ...options }: ImportRequest,
  { actor }: Pick<Call, 'actor'>,
): Promise<StartedImport | Refusal> {
  const { store, runner } = connections;
  const [entry] = await linkEntries(store, linkId);
  if (entry === undefined) return new Refusal('not-found', 'There is no such link.');
  const { link } = entry;
  const [fields, workspace, intake] = await Promise.all([
    listFields(store, link.workspaceId),
    findWorkspace(store, link.workspaceId),
    connections.intake(),
  ]);
  const refused = keepsRefused ? createRefusedFile() : null;
  let result: ImportResult | null = null;

  const work = async ({ signal, tell }: Task): Promise<Outcome> => {
    // What is waited for may never come.
    let giveUp: NodeJS.Timeout | undefined;
    const stopped = (): void => {
      giveUp = setTimeout(() => source.destroy(), GIVE_UP_AFTER_MS);
    };
    signal.addEventListener('abort', stopped);
    try {
      result = await importRows({ store, ...intake }, source, {
        ...options,
        link,
        fields,
        timeZone: timeZone ?? workspace?.timeZone ?? 'UTC',
        signal,
        onStart: (found) => {
          refused?.start(found);
          options.onStart?.(found);
        },
        onRefused: async (row) => {
          await refused?.add(row);
          await options.onRefused?.(row);
        },
        onProgress: (progress) => {
          tell(countsOf(progress));
          options.onProgress?.(progress);
        },
      });
      tell(countsOf({ ...result, waiting: false }));
      return refused?.outcome() ?? {};
    } catch (error) {
      if (!(error instanceof UnreadableInput)) throw error;
      return { ...refused?.outcome(), problem: error.message };
    } finally {
      signal.removeEventListener('abort', stopped);
      clearTimeout(giveUp);
    }
  };

  const { format, lenient = false, dryRun = false, perSecond } = options;
  const started = await runner.begin(
    connections,
    {
      ...(id !== undefined && { id }),
      kind: 'import',
      workspaceId: link.workspaceId,
      parameters: { linkId: link.linkId, totalBytes, format, lenient, dryRun, perSecond },
      begunBy: actor,
    },
    work,
  );
  if (started instanceof Refusal) return started;
  return { ...started, result: started.ended.then(() => result) };
}

const GIVE_UP_AFTER_MS = 5_000;

const countsOf = ({ bytes, rows, imported, known, refused, waiting }: ImportProgress) => ({
  ...{ bytes, rows, imported, known, refused },
  waiting: waiting ? 1 : 0,
});

/** Enough to see what is wrong. The command line writes all refused rows to a file. */
const LONGEST_FILE = 1_000_000;

/** The rows that an import refused, as a file of its form. */
function createRefusedFile() {
  const pieces: string[] = [];
  let length = 0;
  let name = '';
  let end = '';
  let report: ErrorReport | null = null;
  const to = new Writable({
    decodeStrings: false,
    write: (piece: string, _encoding, done) => {
      pieces.push(piece);
      length += piece.length;
      done();
    },
  });
  return {
    start: (found: ImportStart) => {
      name = `refused.${found.format}`;
      end = found.format === 'json' ? '\n]\n' : '';
      report = createErrorReport(to, found);
    },
    add: async (row: Parameters<ErrorReport['add']>[0]) => {
      if (length < LONGEST_FILE) await report?.add(row);
    },
    outcome: (): Outcome =>
      pieces.length === 0 ? {} : { file: { name, text: pieces.join('') + end } },
  };
}
