import { errorFacts, StartError } from '@leadgate/boot';
import { failureOf } from './failure-of.ts';
import type { Store } from './open-store.ts';
import { directoryRevision } from './refill-source.ts';

/**
 * Makes sure that Postgres answers and has its tables. Throws a StartError that says what to do
 * otherwise: a wrong address should not look like an outage that will pass.
 */
export async function requirePostgres(store: Store, url: string): Promise<void> {
  try {
    await directoryRevision(store);
  } catch (error) {
    if (failureOf(error) !== 'unavailable') throw error;
    const { code, message } = errorFacts(error);
    if (code === '42P01')
      throw new StartError(
        'Postgres has no tables of Leadgate yet: apply the migrations first (npm start does).',
        { cause: error },
      );
    throw new StartError(
      `Postgres cannot be used at ${placeOf(url)} (${code ?? message}): start it, or set DATABASE_URL to where it is.`,
      { cause: error },
    );
  }
}

function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}
