import {
  awaitRedis,
  durabilityFindings,
  inspectRedis,
  type Logger,
  type RedisConnection,
  StartError,
} from '@leadgate/boot';

/**
 * Waits for Redis and looks at how well it keeps leads. Returns what is weaker than it should be.
 * Throws a StartError where Redis cannot be reached, or must not be used.
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
