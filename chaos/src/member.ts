import { setTimeout as delay } from 'node:timers/promises';
import { send, startProcess, type RunningProcess } from '../../scripts/servers/process.js';

export interface Ending {
  name: string;
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A receiver or a worker, started again whenever it ends, as whatever runs containers would. */
export interface Member {
  readonly name: string;
  readonly url: string;
  /** Sends a signal that ends it; resolves when it is gone. It stays away until `begin`. */
  end: (signal: NodeJS.Signals) => Promise<Ending>;
  begin: () => Promise<void>;
  /** Waits until it answers that it is ready. False when the time is over. */
  ready: (timeoutMs: number) => Promise<boolean>;
  /** Sends a signal that does not end it. */
  signal: (signal: NodeJS.Signals) => void;
}

const AGAIN_AFTER_MS = 500;

export interface MemberOptions {
  name: string;
  /** What Node runs. */
  script: string;
  port: number;
  env: Record<string, string>;
  log: string;
  cwd: string;
  /** Told when it ended and nobody here had asked it to. */
  onCrash: (ending: Ending) => void;
  onProcess: (process: RunningProcess) => void;
}

export async function startMember(options: MemberOptions): Promise<Member> {
  const { name, script, port, env, log, cwd, onCrash, onProcess } = options;
  let wanted = false;
  let running: RunningProcess;

  async function begin(): Promise<void> {
    wanted = true;
    running = await startProcess({
      name,
      command: process.execPath,
      args: [script],
      log,
      cwd,
      env: { PATH: process.env.PATH, ...env },
    });
    onProcess(running);
    void watch(running);
  }

  async function watch(watched: RunningProcess): Promise<void> {
    const { code, signal } = await watched.exited;
    if (!wanted) return;
    onCrash({ name, code, signal });
    await delay(AGAIN_AFTER_MS);
    if (wanted && watched === running) await begin();
  }

  const url = `http://127.0.0.1:${port}`;
  await begin();
  return {
    name,
    url,
    begin,
    ready: async (timeoutMs) => {
      const deadline = Date.now() + timeoutMs;
      while (!(await isReady(url))) {
        if (Date.now() > deadline) return false;
        await delay(100);
      }
      return true;
    },
    signal: (signal) => send(running.pid, signal),
    end: async (signal) => {
      wanted = false;
      send(running.pid, signal);
      return { name, ...(await running.exited) };
    },
  };
}

async function isReady(url: string): Promise<boolean> {
  const answer = fetch(`${url}/ready`, { signal: AbortSignal.timeout(2_000) });
  return answer.then(
    ({ ok }) => ok,
    () => false,
  );
}
