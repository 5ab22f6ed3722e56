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

const AGAIN_AFTER_MS = 500;

export interface MemberOptions extends Pick<AppOptions, 'app' | 'env' | 'log' | 'onProcess'> {
  name: string;
  onCrash: (crash: Crash) => void;
}

export type Member = Awaited<ReturnType<typeof startMember>>;

/** A receiver, a worker or a deliverer, started again whenever it ends, as whatever runs containers would. */
export async function startMember({ onCrash, ...app }: MemberOptions) {
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
    /** Waits until it answers that it is ready. False when the time is over. */
    ready: (timeoutMs: number) =>
      waitUntil(() => answersOk(`${address.url}/ready`), timeoutMs, 100),
    /** Sends a signal that does not end it. */
    signal: (signal: NodeJS.Signals) => send(running.pid, signal),
    /** Sends a signal that ends it; resolves when it is gone. It stays away until `begin`. */
    end: async (signal: NodeJS.Signals): Promise<Ending> => {
      wanted = false;
      send(running.pid, signal);
      return { name, ...(await running.exited) };
    },
  };
}
