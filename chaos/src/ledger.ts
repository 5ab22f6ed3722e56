import { open, readFile } from 'node:fs/promises';

/** One 202, as the sender heard it. */
export interface Accepted {
  /** Which post: the same through its retries and repeats. */
  post: number;
  /** Its Idempotency-Key; null if it was sent without one. */
  key: string | null;
  workspaceId: string;
  code: string;
  submissionId: string;
  leadId: string;
  body: string;
  /** Milliseconds since 1970. */
  at: number;
}

export type Ledger = Awaited<ReturnType<typeof openLedger>>;

/** Opens a file that every 202 is written to, synced in groups: what it holds was really answered. */
export async function openLedger(path: string) {
  const file = await open(path, 'a');
  let gathered: string[] = [];
  let writing: Promise<void> | null = null;

  async function write(): Promise<void> {
    while (gathered.length > 0) {
      const lines = gathered.join('');
      gathered = [];
      await file.appendFile(lines);
      await file.datasync();
    }
    writing = null;
  }

  return {
    add: (accepted: Accepted): void => {
      gathered.push(`${JSON.stringify(accepted)}\n`);
      writing ??= write();
    },
    /** Resolves when all that was added is on disk. */
    close: async (): Promise<void> => {
      await writing;
      await file.close();
    },
  };
}

export async function readLedger(path: string): Promise<Accepted[]> {
  const text = await readFile(path, 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Accepted);
}
