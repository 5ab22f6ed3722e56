import type { RedisConnection } from '@leadgate/boot';
import { explain } from './explain.ts';
import { remark, type Context } from './command.ts';

/**
 * Carries a change that Postgres has over to Redis at once. Where Redis cannot take it the command
 * still succeeds, with a remark: the worker compares the two and carries it over by itself.
 */
export async function tellRedis(
  { io, session }: Context,
  tell: (redis: RedisConnection) => Promise<void>,
  { otherwise = 'receivers follow by themselves once Redis and a worker run' } = {},
): Promise<void> {
  try {
    await tell(await session.redis());
  } catch (error) {
    const why = explain(error, session).sentence.replace(/\.$/, '');
    remark(io, `stored in Postgres; ${otherwise}. For now: ${why}.`);
  }
}
