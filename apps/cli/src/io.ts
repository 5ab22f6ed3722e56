/** What a command sees of the process that it runs in. */
export interface Io {
  /** Writes to the standard output. */
  out: (text: string) => void;
  /** Resolves once the standard output takes more. For what may be long. */
  drained?: () => Promise<void>;
  /** Writes to the standard error output. */
  err: (text: string) => void;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** Ends a command that would go on for ever, as Ctrl-C does. */
  signal?: AbortSignal;
  /** Whether the standard error output is a terminal that somebody looks at. */
  isTerminal?: boolean;
  /** Whether the standard output is one. */
  printsToTerminal?: boolean;
}

/** Exit statuses, as `leadgate --help` lists them. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  erased: 4,
  stopped: 130,
} as const;
export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

/** A command cannot do what was asked. The message is one sentence: what happened, what to do. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly status: ExitStatus;

  constructor(message: string, status: ExitStatus = EXIT.failed) {
    super(message);
    this.status = status;
  }
}

/**
 * Lets a long command end in order: the first SIGINT or SIGTERM aborts the signal, a second one ends
 * the process as it always would. `close` takes the listeners away.
 */
export function stopOnInterrupt(): { signal: AbortSignal; close: () => void } {
  const controller = new AbortController();
  const stop = (): void => {
    close();
    controller.abort();
  };
  const close = (): void => {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  return { signal: controller.signal, close };
}
