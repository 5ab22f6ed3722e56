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
}
