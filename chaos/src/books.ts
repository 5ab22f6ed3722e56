import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
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

const CLI = fileURLToPath(new URL('../../apps/cli/bin/leadgate.js', import.meta.url));
const CLOSE_WITHIN_MS = 60_000;
const FIND_WITHIN_MS = 60_000;

/** Asks `leadgate ledger` whether the books close, and whether it misses a row that goes. */
export async function closeBooks(system: System): Promise<Books> {
  const workspaces = [...new Set(system.targets.map(({ workspaceId }) => workspaceId))];
  const ask = () => Promise.all(workspaces.map((id) => askLedger(system, id)));
  const sumOf = (answers: Answer[]) => answers.reduce((sum, { difference }) => sum + difference, 0);
  let answers = await ask();
  const isOpen = () =>
    answers.some(({ links }) => links.some(({ waiting }) => waiting > 0)) || sumOf(answers) > 0;
  for (const until = Date.now() + CLOSE_WITHIN_MS; isOpen() && Date.now() < until;) {
    await delay(500);
    answers = await ask();
  }
  const difference = sumOf(answers);
  const deleted = await deleteNewest(system.postgres.url);
  const start = Date.now();
  while (Date.now() < start + FIND_WITHIN_MS) {
    const named = (await ask()).flatMap(({ links }) => links.flatMap((link) => link.submissions));
    if (named.includes(deleted)) return { difference, foundAfterMs: Date.now() - start };
    await delay(500);
  }
  return { difference, foundAfterMs: null };
}

function askLedger(system: System, workspaceId: string): Promise<Answer> {
  const env = { ...process.env, DATABASE_URL: system.postgres.url, REDIS_URL: system.redis.url };
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [CLI, 'ledger', '--workspace', workspaceId, '--json'],
      { env, cwd: join(system.folder) },
      // It ends with 1 if there is a difference.
      (error, stdout) => {
        if (stdout === '') reject(error ?? new Error('the ledger said nothing'));
        else resolve(JSON.parse(stdout) as Answer);
      },
    );
  });
}

async function deleteNewest(databaseUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ id: string }>(
      `DELETE FROM submission WHERE id = (SELECT id FROM submission ORDER BY id DESC LIMIT 1)
       RETURNING id`,
    );
    return rows[0]?.id ?? '';
  } finally {
    await client.end();
  }
}
