import {
  awaitRedis,
  durabilityFindings,
  inspectRedis,
  type Logger,
  type RedisConnection,
  StartError,
} from '@leadgate/boot';
import { applyErasures, LedgerError } from '@leadgate/operations';
import { erasureKeyState, type Store } from '@leadgate/store';

/**
 * Waits for Redis and looks at how well it keeps leads. Returns what is weaker than it should be.
 * Throws a StartError if Redis cannot be reached, or must not be used.
 */
export async function requireRedis(
  redis: RedisConnection,
  logger: Pick<Logger, 'warn'>,
): Promise<string[]> {
  await awaitRedis(redis);
  const { fatal, warnings } = durabilityFindings(await inspectRedis(redis));
  if (fatal.length > 0) throw new StartError(fatal.join('\n'));
  for (const warning of warnings) logger.warn(warning);
  return warnings;
}

/**
 * Makes sure that people who were erased stay so: that the worker can tell them, and that an older
 * dump which was put back is rid of them before the first job. Returns how many erasures of the ledger
 * were applied again. Throws a StartError if it cannot be made sure.
 */
export async function requireErasures(
  servers: { store: Store; redis: RedisConnection },
  ledger: string | undefined,
): Promise<number> {
  const { store } = servers;
  const state = await erasureKeyState(store);
  if (state === 'missing' || (ledger !== undefined && store.erasureKey === null))
    throw new StartError(
      'People were erased, and ERASURE_KEY is not set: what comes late of them would bring them back. Set it to the key that they were erased under.',
    );
  if (state === 'another')
    throw new StartError(
      'ERASURE_KEY is another one than people were erased under: what comes late of them would bring them back.',
    );
  if (ledger === undefined) return 0;
  try {
    return (await applyErasures(servers, ledger)).applied;
  } catch (error) {
    if (error instanceof LedgerError) throw new StartError(`${error.message}.`, { cause: error });
    throw error;
  }
}
