import { errorFacts } from './error-facts.ts';

/**
 * The process cannot start, and whoever started it can do something about it. The message is one
 * clear sentence, or a list of them, that says what to do, and holds no secret.
 */
export class StartError extends Error {
  override name = 'StartError';
}

/**
 * Ends a process that could not start, with status 1: a StartError or a taken port in one sentence
 * on the standard error output, anything else with its stack, as that is a bug.
 */
export function failStart(error: unknown): never {
  process.stderr.write(`${reasonNotToStart(error)}\n`);
  process.exit(1);
}

/** What to tell whoever started the process. */
export function reasonNotToStart(error: unknown): string {
  if (error instanceof StartError) return error.message;
  if (error instanceof Error && 'port' in error && 'code' in error) {
    const port = String(error.port);
    if (error.code === 'EADDRINUSE')
      return `Port ${port} is taken: stop what listens there, or choose another port.`;
    if (error.code === 'EACCES')
      return `Port ${port} is not allowed for this user: choose one above 1023.`;
  }
  const { message, stack } = errorFacts(error);
  return stack ?? message;
}
