/**
 * The process cannot start, and whoever started it can do something about it. The message is one
 * clear sentence, or a list of them, that says what to do, and holds no secret.
 */
export class StartError extends Error {
  override name = 'StartError';
}
