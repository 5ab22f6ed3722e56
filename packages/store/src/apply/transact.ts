import { setTimeout as sleep } from 'node:timers/promises';
import { failureOf, StoreError, withoutValues } from '../failure-of.ts';
import type { Store } from '../open-store.ts';
import type { Statements } from '../statements.ts';

/** Something was committed between reading and locking: the same again will see it. */
export class RetryTransaction extends Error {
  override readonly name = 'RetryTransaction';
}

const ATTEMPTS = 10;

/**
 * Runs a transaction in which each statement sees what others committed before it (READ COMMITTED, as
 * connections are opened with), and runs it
 * again from its beginning on RetryTransaction, on a deadlock and on a serialisation failure.
 * Rejects with a StoreError if Postgres failed.
 */
export async function transact<T>(store: Store, run: (tx: Statements) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await store.transaction(run);
    } catch (error) {
      const isStale = error instanceof RetryTransaction;
      if (!isStale && failureOf(error) !== 'conflict') throw withoutValues(error);
      if (attempt === ATTEMPTS) throw new StoreError('conflict', 'retried too often');
      // Two that ran into each other must not start again in step.
      if (!isStale) await sleep(Math.random() * 20 * attempt);
    }
  }
}
