import closeWithGrace from 'close-with-grace';
import type { Logger } from './logger.ts';

export interface Shutdown {
  /** Puts a close on the list. The last one added is the first to run, and each waits for the one before. */
  add(name: string, close: () => Promise<void> | void): void;
  /** Starts the shutdown without a signal; the exit status is as for one, or 1 when `error` is given. */
  start(error?: unknown): void;
  /** Aborted when the shutdown begins. */
  readonly signal: AbortSignal;
}

/**
 * Closes what was added, in reverse order, on SIGTERM, SIGINT, SIGHUP, SIGQUIT or an error nobody
 * caught, and ends the process. The exit status tells the truth: 0 when everything closed, 1 when
 * something failed, took longer than `timeoutMs` in all, or an error was the reason. A close that
 * fails does not keep the rest from running. A second signal ends the process at once, with 1.
 */
export function createShutdown({
  logger,
  timeoutMs,
}: {
  logger: Pick<Logger, 'info' | 'error' | 'fatal'>;
  timeoutMs: number;
}): Shutdown {
  const closes: { name: string; close: () => Promise<void> | void }[] = [];
  const abort = new AbortController();
  let current: string | null = null;
  let reason: unknown;

  const grace = closeWithGrace(
    {
      delay: timeoutMs,
      logger: false,
      // Faults of the machine are not ours to survive, and an empty event loop is no shutdown.
      skip: [
        'SIGILL',
        'SIGTRAP',
        'SIGABRT',
        'SIGBUS',
        'SIGFPE',
        'SIGSEGV',
        'SIGUSR2',
        'beforeExit',
      ],
      onSecondSignal: (signal) => logger.error({ signal, closing: current }, 'stopped at once'),
      onSecondError: (err) => logger.fatal({ err, closing: current }, 'failed while stopping'),
      onTimeout: (ms) => logger.error({ ms, closing: current }, 'did not stop in time'),
    },
    async ({ signal, err }) => {
      const error = err ?? reason;
      if (error === undefined) logger.info({ signal }, 'stopping');
      else logger.fatal({ err: error }, 'stopping because of an error');
      abort.abort();
      let failed = error !== undefined;
      for (let next = closes.pop(); next !== undefined; next = closes.pop()) {
        current = next.name;
        try {
          await next.close();
        } catch (err) {
          failed = true;
          logger.error({ err, closing: current }, 'could not close');
        }
      }
      // Ends the process with 1; everything has been told already.
      if (failed) throw new Error('did not stop cleanly');
      logger.info('stopped');
    },
  );

  return {
    add: (name, close) => void closes.push({ name, close }),
    start(error) {
      reason = error;
      grace.close();
    },
    signal: abort.signal,
  };
}
