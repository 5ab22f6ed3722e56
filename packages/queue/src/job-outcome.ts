/**
 * Thrown by `apply` to put the job back at the head of the queue without spending an attempt: it
 * was not tried, or could not have worked for anyone.
 */
export class GiveBack extends Error {
  override name = 'GiveBack';
}

/**
 * Thrown by `apply` when the job's attempt failed. The reason is kept with the job and shown to
 * operators: it must not hold personal data.
 */
export class AttemptFailed extends Error {
  override name = 'AttemptFailed';
}
