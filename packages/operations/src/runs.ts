import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import {
  beginRun,
  endRun,
  fileOfRun,
  findRun,
  keepRun,
  listRuns,
  resumeRun,
  stopRun,
  RUN_KINDS,
  type NewRun,
  type Run,
  type RunKind,
  type RunProgress,
} from '@leadgate/store';
import { Type } from 'typebox';
import { operation, Refusal, TextFile, type Call, type Connections } from './operation.ts';
import { At, Limit, Nullable, open, Uuid } from './schema.ts';

/** A run as the process sees it that does it. */
export interface Task {
  run: Run;
  /** Aborted when it is to stop, at the next batch. */
  signal: AbortSignal;
  /** Says how far it is, and from where it could go on. Cheap: it is written down each second. */
  tell: (progress: RunProgress, cursor?: string) => void;
}

/** What a run came to, if there is more to say than that it is done. */
export interface Outcome {
  /** Why it failed: a sentence without personal data. */
  problem?: string;
  /** What it leaves to be fetched. */
  file?: { name: string; text: string };
}

/** Does a run, batch by batch. Doing a batch again changes nothing. */
export type Work = (task: Task, connections: Connections) => Promise<Outcome | void>;

/** How runs go on that were stopped. What needs more than its parameters, as a file, has no work here. */
const WORK: { [K in RunKind]?: () => Promise<Work> } = {
  replay: async () => (await import('./replay/replay-submissions.ts')).replayWork,
  'read-again': async () => (await import('./replay/read-again.ts')).readAgainWork,
  resend: async () => (await import('./resend.ts')).resendWork,
  mend: async () => (await import('./rejected-bodies.ts')).mendWork,
};

export interface Started {
  run: Run;
  /** Resolves when it has ended, however it did. */
  ended: Promise<Ended>;
  /** Has it stop at its next batch. */
  stop: () => void;
}

export interface Ended {
  state: 'stopped' | 'failed' | 'done';
  problem: string | null;
  progress: RunProgress;
  /** What made it fail, if that was no expected outcome. */
  error: Error | null;
}

type Done = { outcome: Outcome; error: Error | null };

const KEEP_EVERY_MS = 1_000;

/**
 * Does runs in this process, and keeps their standing in Postgres, where others see it and ask for a stop.
 * Work that is resumed while its former process still lives, cut off from Postgres, may be done twice for a
 * moment, which changes nothing.
 */
export class Runner {
  readonly #id = randomUUID();
  readonly #running = new Map<Promise<Ended>, AbortController>();
  readonly #warn: Call['warn'];

  /** `warn`: told of what failed, for a log. */
  constructor(warn: Call['warn'] = () => {}) {
    this.#warn = warn;
  }

  /** Begins a run, which goes on after this has answered. */
  async begin(
    connections: Connections,
    { id = randomUUID(), ...run }: Omit<NewRun, 'id' | 'runner'> & { id?: string },
    work: Work,
  ): Promise<Started | Refusal> {
    const begun = await beginRun(connections.store, { id, ...run, runner: this.#id });
    return begun === null ? TAKEN : this.#start(connections, begun, work);
  }

  /** Goes on with one that stopped, failed, or whose process went away. */
  async resume(connections: Connections, id: string): Promise<Started | Refusal> {
    const found = await findRun(connections.store, id);
    if (found === null) return UNKNOWN;
    const load = WORK[found.kind];
    if (load === undefined) return BY_FILE;
    const work = await load();
    const resumed = await resumeRun(connections.store, id, this.#id);
    return resumed === null ? NOT_NOW : this.#start(connections, resumed, work);
  }

  /** Stops what this process does, in order; it may be resumed elsewhere. */
  async close(): Promise<void> {
    for (const stop of this.#running.values()) stop.abort();
    await Promise.all(this.#running.keys());
  }

  #start(connections: Connections, run: Run, work: Work): Started {
    const stop = new AbortController();
    // Each row that waits for its turn listens.
    setMaxListeners(0, stop.signal);
    const ended = this.#do(connections, run, work, stop);
    this.#running.set(ended, stop);
    void ended.finally(() => this.#running.delete(ended));
    return { run, ended, stop: () => stop.abort() };
  }

  async #do(connections: Connections, run: Run, work: Work, stop: AbortController): Promise<Ended> {
    const { store } = connections;
    const mine = { id: run.id, runner: this.#id };
    const { signal } = stop;
    const standing = { progress: run.progress, cursor: run.cursor };
    const over = new AbortController();
    const keep = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const asked = await keepRun(store, mine, standing).catch(() => 'go-on');
        if (asked !== 'go-on') stop.abort();
        await delay(KEEP_EVERY_MS, undefined, over).catch(() => undefined);
      }
    };
    const kept = keep();
    const tell: Task['tell'] = (progress, cursor = standing.cursor ?? undefined) =>
      Object.assign(standing, { progress: { ...progress }, cursor: cursor ?? null });
    const { outcome, error } = await work({ run, signal, tell }, connections).then(
      (outcome): Done => ({ outcome: outcome ?? {}, error: null }),
      (error: Error): Done => ({ outcome: { problem: UNANSWERED }, error }),
    );
    over.abort();
    await kept;
    const problem = signal.aborted ? null : (outcome.problem ?? null);
    const state = signal.aborted ? 'stopped' : problem === null ? 'done' : 'failed';
    if (state === 'failed' && error !== null) this.#warn(`run ${run.id} failed`, error);
    const { file = null } = outcome;
    await endRun(store, mine, { state, problem, ...standing, file }).catch((failure: unknown) =>
      this.#warn(`how run ${run.id} ended is not on record`, failure),
    );
    return { state, problem, progress: standing.progress, error };
  }
}

const UNANSWERED = 'Redis or Postgres did not answer; what was done stays. It can be resumed.';
const UNKNOWN = new Refusal('not-found', 'There is no such run.');
const TAKEN = new Refusal('conflict', 'A run of this id was begun already, or as many run as may.');
const NOT_NOW = new Refusal('conflict', 'It runs, or is done; or as many run as may.');
const BY_FILE = new Refusal('conflict', 'It goes on when the same file is sent again.');

export const RunView = Type.Object({
  id: Uuid,
  workspaceId: Uuid,
  kind: Type.String({ description: `${RUN_KINDS.join(', ')}.` }),
  parameters: open({}, 'What it was asked for.'),
  state: Type.String({
    description:
      'running, done, stopped, failed, or interrupted: the process that did it went away.',
  }),
  stopping: Type.Boolean({ description: 'It was asked to stop, and has not yet.' }),
  progress: Type.Record(Type.String(), Type.Number(), { description: 'Counts.' }),
  problem: Nullable(Type.String({ description: 'Why it failed.' })),
  begunBy: Type.Object({ kind: Type.String(), name: Type.String() }),
  begunAt: At,
  changedAt: At,
  endedAt: Nullable(At),
  file: Nullable(Type.String({ description: 'The name of the file of rows that were refused.' })),
});

/** What takes long: replays, imports, resends, reading again. Each runs in the process that began or resumed it. */
export const run = {
  list: operation({
    name: 'run.list',
    id: 'listRuns',
    method: 'GET',
    path: '/runs',
    summary:
      'List what takes long (replays, imports, resends, reading again, mending), newest first, of the last 30 days',
    scope: 'workspaceId',
    input: Type.Object({
      workspaceId: Type.Optional(Uuid),
      kind: Type.Optional(Type.Enum([...RUN_KINDS])),
      limit: Limit,
    }),
    output: Type.Array(RunView),
    run: ({ limit = 50, ...filter }, { store }) => listRuns(store, filter, limit),
  }),
  show: operation({
    name: 'run.show',
    id: 'showRun',
    method: 'GET',
    path: '/runs/:runId',
    summary: 'Show how far a run is',
    input: Type.Object({ runId: Uuid }),
    output: RunView,
    run: async ({ runId }, { store }) => (await findRun(store, runId)) ?? UNKNOWN,
  }),
  stop: operation({
    name: 'run.stop',
    id: 'stopRun',
    method: 'POST',
    path: '/runs/:runId/stop',
    summary: 'Have a run stop at its next batch, in whatever process it is; twice changes nothing',
    input: Type.Object({ runId: Uuid }),
    output: RunView,
    run: async ({ runId }, { store }) => (await stopRun(store, runId)) ?? UNKNOWN,
  }),
  resume: operation({
    name: 'run.resume',
    id: 'resumeRun',
    method: 'POST',
    path: '/runs/:runId/resume',
    summary: 'Go on with a run that stopped, failed or was interrupted',
    description: 'It goes on in this process. An import goes on when the same file is sent again.',
    input: Type.Object({ runId: Uuid }),
    output: RunView,
    run: async ({ runId }, connections) =>
      runOf(await connections.runner.resume(connections, runId)),
  }),
  refused: operation({
    name: 'run.refused',
    id: 'refusedRows',
    method: 'GET',
    path: '/imports/:runId/refused',
    summary: 'The rows that an import refused, with reasons: a file to mend and import again',
    description:
      'Of the form of what was imported. The first megabyte of them is kept, for 30 days or until somebody of the workspace is erased.',
    role: 'operator',
    recorded: true,
    input: Type.Object({ runId: Uuid }),
    output: null,
    run: async ({ runId }, { store }) => {
      const file = await fileOfRun(store, runId);
      if (file === null) return new Refusal('not-found', 'It left no refused rows.');
      return new TextFile(
        file.name,
        'text/plain; charset=utf-8',
        Readable.from([file.text]),
        () => 1,
      );
    },
  }),
};

/** What is answered when a run is begun. */
export const runOf = (started: Started | Refusal): Run | Refusal =>
  started instanceof Refusal ? started : started.run;
