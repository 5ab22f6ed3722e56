import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CLI } from '../../scripts/launcher/apps.js';
import { waitUntil } from '../../scripts/servers/process.js';
import { withPostgres } from '../../scripts/servers/session.js';
import type { System } from './system.ts';

/** What the service's own ledger said once the faults were over. */
export interface Books {
  /** Accepted and neither there nor on its way, by its own account. */
  difference: number;
  /** Until it missed a row that was deleted by hand, and named it; null: it did not within a minute. */
  foundAfterMs: number | null;
}

interface Answer {
  difference: number;
  links: { waiting: number; submissions: string[] }[];
}

const CLOSE_WITHIN_MS = 60_000;
const FIND_WITHIN_MS = 60_000;
const LOOK_MS = 500;

/** Asks `leadgate ledger` whether the books close, and whether it misses a row that goes. */
export async function closeBooks(system: System): Promise<Books> {
  const workspaces = [...new Set(system.targets.map(({ workspaceId }) => workspaceId))];
  const ask = () => Promise.all(workspaces.map((id) => askLedger(system, id)));
  let difference = NaN;
  const areClosed = async () => {
    const answers = await ask();
    difference = answers.reduce((sum, answer) => sum + answer.difference, 0);
    return (
      difference <= 0 && answers.every(({ links }) => links.every(({ waiting }) => waiting <= 0))
    );
  };
  await waitUntil(areClosed, CLOSE_WITHIN_MS, LOOK_MS);
  const deleted = await deleteNewest(system.postgres.url);
  const isMissed = async () =>
    (await ask()).some(({ links }) => links.some((link) => link.submissions.includes(deleted)));
  const start = Date.now();
  const isFound = await waitUntil(isMissed, FIND_WITHIN_MS, LOOK_MS);
  return { difference, foundAfterMs: isFound ? Date.now() - start : null };
}

async function askLedger(
  { folder, postgres, redis }: System,
  workspaceId: string,
): Promise<Answer> {
  const env = { ...process.env, DATABASE_URL: postgres.url, REDIS_URL: redis.url };
  const ledger = [CLI, 'ledger', '--workspace', workspaceId, '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, ledger, { env, cwd: folder })
    // It ends with 1 if there is a difference.
    .catch((error: Error & { stdout: string }) => error);
  return JSON.parse(stdout) as Answer;
}

const deleteNewest = (databaseUrl: string): Promise<string> =>
  withPostgres(databaseUrl, async (client) => {
    const { rows } = await client.query<{ id: string }>(
      `DELETE FROM submission WHERE id = (SELECT id FROM submission ORDER BY id DESC LIMIT 1)
       RETURNING id`,
    );
    return rows[0]?.id ?? '';
  });
