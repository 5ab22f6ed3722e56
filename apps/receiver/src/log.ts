import type { Logger } from '@leadgate/boot';
import type { IntakeFailure } from './accept-lead.ts';

/** While Redis is away every post fails: one line a kind in this time says so, with how many. */
const QUIET_MS = 10_000;

/** Logs what goes wrong with Redis and the spool, without a line for each of thousands of posts. */
export function createFailureLog(
  logger: Pick<Logger, 'warn'>,
  clock: () => number,
): (failure: IntakeFailure, error: unknown) => void {
  const told = new Map<IntakeFailure, { at: number; untold: number }>();
  return (failure, err) => {
    const now = clock();
    const last = told.get(failure);
    if (last !== undefined && now - last.at < QUIET_MS) {
      last.untold += 1;
      return;
    }
    told.set(failure, { at: now, untold: 0 });
    logger.warn({ err, failure, since: last?.untold ?? 0 }, SENTENCES[failure]);
  };
}

const SENTENCES: Record<IntakeFailure, string> = {
  'link-not-looked-up': 'a link could not be looked up: answered 503',
  spooled: 'a lead could not be enqueued: it is in the spool',
  'not-enqueued': 'a lead could not be enqueued: answered 503',
  'not-spooled': 'a lead could not be kept in the spool',
  'secret-not-read':
    'a secret of a link was encrypted under a key that is not SECRETS_KEY: its posts are not checked',
  'rejected-not-kept': 'a refused body could not be kept for the operators',
};

/** Counts by name since the last look. */
export interface Tally {
  count: (name: string) => void;
  /** The counts, which start again from nothing. */
  take: () => Record<string, number>;
}

export function createTally(): Tally {
  let counts = new Map<string, number>();
  return {
    count: (name) => void counts.set(name, (counts.get(name) ?? 0) + 1),
    take() {
      const taken = Object.fromEntries(counts);
      counts = new Map();
      return taken;
    },
  };
}
