import type { AuditActor } from './audit.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { storableTexts } from './statements.ts';

/** Kinds of what takes long. */
export const RUN_KINDS = ['replay', 'import', 'resend', 'read-again', 'mend'] as const;
export type RunKind = (typeof RUN_KINDS)[number];

/** Counts, by names of the kind. */
export type RunProgress = Record<string, number>;

/** Something that takes long, and that every process can see and stop. */
export interface Run {
  id: string;
  workspaceId: string;
  kind: RunKind;
  /** What it was asked for: ids, times, settings. No personal data. */
  parameters: Record<string, unknown>;
  /** `interrupted`: the process that did it went away. */
  state: 'running' | 'interrupted' | 'stopped' | 'failed' | 'done';
  /** It was asked to stop, and has not yet. */
  stopping: boolean;
  progress: RunProgress;
  /** Where it goes on, as its kind reads it. */
  cursor: string | null;
  /** Why it failed: a sentence without personal data. */
  problem: string | null;
  begunBy: AuditActor;
  begunAt: Date;
  /** When it last said how far it is. */
  changedAt: Date;
  endedAt: Date | null;
  /** The name of the file that it left. */
  file: string | null;
}

export interface NewRun extends Pick<Run, 'id' | 'workspaceId' | 'kind' | 'parameters'> {
  begunBy: AuditActor;
  /** The process that does it. */
  runner: string;
}

/** The process that does a run says so each second; after this it is taken to be gone. */
const SILENT = Prisma.sql`interval '30 seconds'`;
const ALIVE = Prisma.sql`state = 'running' AND changed_at > clock_timestamp() - ${SILENT}`;
const INTERRUPTED = Prisma.sql`state = 'running' AND changed_at <= clock_timestamp() - ${SILENT}`;

/** At once, of all processes: each holds a connection, a file or both. */
const MOST_RUNNING = 8;
const ROOM = Prisma.sql`(SELECT count(*) FROM run WHERE ${ALIVE}) < ${MOST_RUNNING}`;

/** What has ended is forgotten after this, and with it the file that it left. */
const KEPT = Prisma.sql`interval '30 days'`;

type Row = Omit<Run, 'begunBy'> & { begunByKind: AuditActor['kind']; begunByName: string };

const COLUMNS = Prisma.sql`
  id, workspace_id AS "workspaceId", kind, parameters,
  CASE WHEN ${INTERRUPTED} THEN 'interrupted' ELSE state END AS state,
  stop_asked AND state = 'running' AS stopping, progress, cursor, problem,
  begun_by_kind AS "begunByKind", begun_by AS "begunByName", begun_at AS "begunAt",
  changed_at AS "changedAt", ended_at AS "endedAt", file_name AS file`;

const readRun = ({ begunByKind: kind, begunByName: name, ...row }: Row): Run => ({
  ...row,
  begunBy: { kind, name },
});

/** Begins a run. Null if one of its id was begun, or as many run as may. */
export async function beginRun(store: Store, run: NewRun): Promise<Run | null> {
  const { id, workspaceId, kind, parameters, begunBy, runner } = run;
  await store.prisma.$executeRaw`DELETE FROM run WHERE changed_at < now() - ${KEPT}`;
  const [row] = await store.prisma.$queryRaw<Row[]>`
    INSERT INTO run (id, workspace_id, kind, parameters, runner, begun_by_kind, begun_by)
    SELECT ${id}::uuid, ${workspaceId}::uuid, ${kind}, ${JSON.stringify(storableTexts(parameters))}::jsonb,
           ${runner}::uuid, ${begunBy.kind}, ${begunBy.name}
    WHERE ${ROOM}
    ON CONFLICT (id) DO NOTHING RETURNING ${COLUMNS}`;
  return row === undefined ? null : readRun(row);
}

/** Has a process go on with a run that stopped, failed or was interrupted. Null if it is none of these, or as many run as may. */
export async function resumeRun(store: Store, id: string, runner: string): Promise<Run | null> {
  const [row] = await store.prisma.$queryRaw<Row[]>`
    UPDATE run SET state = 'running', stop_asked = false, problem = NULL, ended_at = NULL,
                   runner = ${runner}::uuid, changed_at = clock_timestamp()
    WHERE id = ${id}::uuid AND (state IN ('stopped', 'failed') OR ${INTERRUPTED}) AND ${ROOM}
    RETURNING ${COLUMNS}`;
  return row === undefined ? null : readRun(row);
}

interface Standing {
  progress: RunProgress;
  cursor: string | null;
}

/**
 * Says that a process still does a run, and how far it is. `stop`: it was asked to; `lost`: another process
 * does it now.
 */
export async function keepRun(
  store: Store,
  { id, runner }: Pick<NewRun, 'id' | 'runner'>,
  { progress, cursor }: Standing,
): Promise<'go-on' | 'stop' | 'lost'> {
  const [row] = await store.prisma.$queryRaw<{ stop: boolean }[]>`
    UPDATE run SET progress = ${JSON.stringify(progress)}::jsonb, cursor = ${cursor},
                   changed_at = clock_timestamp()
    WHERE id = ${id}::uuid AND runner = ${runner}::uuid AND state = 'running'
    RETURNING stop_asked AS stop`;
  if (row === undefined) return 'lost';
  return row.stop ? 'stop' : 'go-on';
}

/** Writes how a run ended, and what it leaves; nothing if another process does it now. */
export async function endRun(
  store: Store,
  { id, runner }: Pick<NewRun, 'id' | 'runner'>,
  {
    state,
    problem,
    progress,
    cursor,
    file,
  }: Standing & {
    state: 'stopped' | 'failed' | 'done';
    problem: string | null;
    file: { name: string; text: string } | null;
  },
): Promise<void> {
  const { name = null, text = null } = storableTexts(file) ?? {};
  await store.prisma.$executeRaw`
    UPDATE run SET state = ${state}, problem = ${problem}, cursor = ${cursor},
      progress = ${JSON.stringify(progress)}::jsonb,
      changed_at = clock_timestamp(), ended_at = clock_timestamp(),
      file_name = CASE WHEN keeps_file THEN ${name} END,
      file = CASE WHEN keeps_file THEN ${text} END
    WHERE id = ${id}::uuid AND runner = ${runner}::uuid AND state = 'running'`;
}

/** Asks for a run to stop; one that is interrupted has, then. Null if there is none. */
export async function stopRun(store: Store, id: string): Promise<Run | null> {
  await store.prisma.$executeRaw`
    UPDATE run SET stop_asked = true,
      state = CASE WHEN ${INTERRUPTED} THEN 'stopped' ELSE state END,
      ended_at = CASE WHEN ${INTERRUPTED} THEN clock_timestamp() ELSE ended_at END
    WHERE id = ${id}::uuid AND state = 'running'`;
  return findRun(store, id);
}

export async function findRun(store: Store, id: string): Promise<Run | null> {
  const [row] = await store.prisma.$queryRaw<Row[]>`
    SELECT ${COLUMNS} FROM run WHERE id = ${id}::uuid`;
  return row === undefined ? null : readRun(row);
}

/** Runs of a workspace, or of all, newest first, at most `limit`. */
export async function listRuns(
  store: Store,
  { workspaceId, kind }: { workspaceId?: string; kind?: RunKind },
  limit: number,
): Promise<Run[]> {
  const conditions = [
    Prisma.sql`true`,
    ...(workspaceId === undefined ? [] : [Prisma.sql`workspace_id = ${workspaceId}::uuid`]),
    ...(kind === undefined ? [] : [Prisma.sql`kind = ${kind}`]),
  ];
  const rows = await store.prisma.$queryRaw<Row[]>`
    SELECT ${COLUMNS} FROM run WHERE ${Prisma.join(conditions, ' AND ')}
    ORDER BY begun_at DESC, id LIMIT ${limit}`;
  return rows.map(readRun);
}

/** The file that a run left; null if there is none. */
export async function fileOfRun(
  store: Store,
  id: string,
): Promise<{ name: string; text: string } | null> {
  const [row] = await store.prisma.$queryRaw<{ name: string; text: string }[]>`
    SELECT file_name AS name, file AS text FROM run WHERE id = ${id}::uuid AND file IS NOT NULL`;
  return row ?? null;
}

/**
 * Takes the files that runs of a workspace left, and has those that go on leave none: they may hold a person
 * who is erased, written in any way.
 */
export async function takeFilesOfRuns(store: Store, workspaceId: string): Promise<void> {
  await store.prisma.$executeRaw`
    UPDATE run SET keeps_file = false, file_name = NULL, file = NULL
    WHERE workspace_id = ${workspaceId}::uuid AND keeps_file
      AND (file IS NOT NULL OR state <> 'done')`;
}
