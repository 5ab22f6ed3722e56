import {
  createReserver,
  drainFolder,
  isSpoolFolder,
  SpoolFolder,
  spoolFolders,
} from '@leadgate/intake';
import type { Command } from 'commander';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { addCommand, answer, type Context, type JsonOption, remark } from '../command.ts';
import { EXIT, Failure } from '../io.ts';
import { shortTime, table } from '../print/table.ts';
import { wholeNumber } from '../read.ts';
import { openCliProducer } from '../redis.ts';

const PATH = 'a spool folder, or SPOOL_DIR for all in it';

export function addSpoolCommands(spool: Command, context: Context): void {
  addCommand(spool, 'list', {
    summary: 'List the leads in spool folders that no receiver holds.',
    details: 'With --json, each with its ids. A folder in use is left to its receiver.',
    examples: ['spool list /var/lib/leadgate/spool', 'spool list ./spool --json'],
  })
    .argument('<path>', PATH)
    .action(async (path: string, options: JsonOption) => {
      const { io } = context;
      const listed: Listed[] = [];
      for (const folder of foldersAt(resolve(io.cwd, path))) listed.push(await look(folder));
      answer(io, options, listed, () =>
        table(
          ['folder', 'waiting', 'oldest', 'damaged'],
          listed.map(({ path, inUse, waiting, damagedRecords }) =>
            inUse
              ? [path, 'in use', null, null]
              : [path, waiting.length, oldest(waiting), damagedRecords],
          ),
        ),
      );
    });

  addCommand(spool, 'drain', {
    summary: 'Hand the leads of a spool folder to Redis, and remove the folder.',
    details: 'For a folder left behind: a receiver that starts on it does the same by itself.',
    examples: ['spool drain /mnt/rescued/spool', 'spool drain ./spool --rate 2000'],
  })
    .argument('<path>', PATH)
    .option('--rate <number>', 'leads a second', wholeNumber, 500)
    .action((path: string, options: JsonOption & { rate: number }) =>
      drain(context, path, options),
    );
}

interface Listed {
  path: string;
  inUse: boolean;
  damagedRecords: number;
  waiting: {
    submissionId: string;
    workspaceId: string;
    linkId: string;
    leadId: string;
    time: string;
  }[];
}

function oldest(waiting: Listed['waiting']): string | null {
  const [first] = waiting;
  return first === undefined ? null : shortTime(first.time);
}

async function look(path: string): Promise<Listed> {
  const folder = await open(path);
  if (folder === null) return { path, inUse: true, damagedRecords: 0, waiting: [] };
  try {
    const waiting: Listed['waiting'] = [];
    // Those that were set aside, and those whose turn to be has not come.
    let damagedRecords = folder.damaged;
    for await (const spooled of folder.records())
      if (spooled === null) damagedRecords += 1;
      else {
        const { id, workspaceId, linkId, leadId, stamp } = spooled.submission;
        const time = new Date(stamp / 1_000).toISOString();
        waiting.push({ submissionId: id, workspaceId, linkId, leadId, time });
      }
    return { path: folder.path, inUse: false, damagedRecords, waiting };
  } finally {
    await folder.close({ keep: true });
  }
}

/** Null for one that a receiver holds. */
async function open(path: string): Promise<SpoolFolder | null> {
  const folder = await SpoolFolder.open(path);
  return folder === 'in-use' ? null : folder;
}

interface Drained {
  path: string;
  drained: number;
  damaged: number;
  /** Left: their workspaces are being refilled. */
  behind: number;
  /** Dropped: their workspaces were removed. */
  removed: number;
}

async function drain(
  context: Context,
  path: string,
  options: JsonOption & { rate: number },
): Promise<void> {
  const { io, session } = context;
  const paths = foldersAt(resolve(io.cwd, path));
  const redis = await session.redis();
  const reserver = createReserver(redis);
  const producer = await openCliProducer(redis, await session.redisSettings());
  const done: Drained[] = [];
  try {
    for (const path of paths) {
      const folder = await open(path);
      if (folder === null) {
        const inUse = `${path} is in use: its receiver runs, and drains it by itself.`;
        if (paths.length === 1) throw new Failure(inUse);
        remark(io, inUse);
        continue;
      }
      try {
        const pass = await drainFolder(folder, { producer, reserver }, options);
        done.push({ path: folder.path, ...pass });
      } finally {
        await folder.close();
      }
    }
  } finally {
    await producer.close();
  }
  answer(io, options, done, () => done.map(sentence).join(''));
  const behind = done.reduce((sum, folder) => sum + folder.behind, 0);
  if (behind > 0)
    throw new Failure(
      `${behind} ${behind === 1 ? 'lead stays' : 'leads stay'} in the spool, as Redis is being refilled: run it again when a worker has done that, or run leadgate rebuild.`,
    );
}

function sentence({ path, drained, damaged, behind, removed }: Drained): string {
  const left = [
    ...(damaged > 0 ? [`${damaged} damaged set aside in it`] : []),
    ...(behind > 0 ? [`${behind} left`] : []),
    ...(removed > 0 ? [`${removed} dropped, as their workspace was removed`] : []),
  ];
  const end = left.length > 0 ? `, ${left.join(', ')}` : '';
  return `${path}: ${drained} ${drained === 1 ? 'lead' : 'leads'} handed to Redis${end}.\n`;
}

function foldersAt(path: string): string[] {
  if (isSpoolFolder(path)) return [path];
  const folders = existsSync(path) ? spoolFolders(path) : [];
  if (folders.length === 0 && !existsSync(join(path, 'links.ndjson')))
    throw new Failure(
      `There is no spool at ${path}: give a receiver's SPOOL_DIR, or a folder in it.`,
      EXIT.usage,
    );
  return folders;
}
