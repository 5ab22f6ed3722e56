import { setTimeout as delay } from 'node:timers/promises';
import { answersOk, freeAddress, launchApp, type AppOptions } from '../../scripts/launcher/apps.js';
import { endOf, send, waitUntil, type RunningProcess } from '../../scripts/servers/process.js';

export interface Ending {
  name: string;
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** An end that nobody here had asked for. */
export interface Crash extends Ending {
  /** The last line of its log. */
  said: string;
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

export interface MemberOptions extends Pick<AppOptions, 'app' | 'env' | 'log' | 'onProcess'> {
  name: string;
  onCrash: (crash: Crash) => void;
}

export async function startMember({ onCrash, ...app }: MemberOptions): Promise<Member> {
  const { name } = app;
  const address = await freeAddress();
  let wanted = false;
  let running: RunningProcess;

  async function begin(): Promise<void> {
    wanted = true;
    running = (await launchApp({ ...app, address })).process;
    void watch(running);
  }

  async function watch(watched: RunningProcess): Promise<void> {
    const { code, signal } = await watched.exited;
    if (!wanted) return;
    onCrash({ name, code, signal, said: endOf(app.log, 1) });
    await delay(AGAIN_AFTER_MS);
    if (wanted && watched === running) await begin();
  }

  await begin();
  return {
    name,
    url: address.url,
    begin,
    ready: (timeoutMs) => waitUntil(() => answersOk(`${address.url}/ready`), timeoutMs, 100),
    signal: (signal) => send(running.pid, signal),
    end: async (signal) => {
      wanted = false;
      send(running.pid, signal);
      return { name, ...(await running.exited) };
    },
  };
}
