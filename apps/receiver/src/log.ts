import type { Logger } from '@leadgate/boot';
import type { Trouble } from './accept-lead.ts';

/** While Redis is away every post fails: one line a kind in this time says so, with how many. */
const QUIET_MS = 10_000;

/** Logs what goes wrong with Redis and the spool, without a line for each of thousands of posts. */
export function createTroubleLog(
  logger: Pick<Logger, 'warn'>,
  clock: () => number,
): (trouble: Trouble, error: unknown) => void {
  const told = new Map<Trouble, { at: number; untold: number }>();
  return (trouble, err) => {
    const now = clock();
    const last = told.get(trouble);
    if (last !== undefined && now - last.at < QUIET_MS) {
      last.untold += 1;
      return;
    }
    told.set(trouble, { at: now, untold: 0 });
    logger.warn({ err, trouble, since: last?.untold ?? 0 }, SENTENCES[trouble]);
  };
}

const SENTENCES: Record<Trouble, string> = {
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
