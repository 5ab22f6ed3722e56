import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

/** A Lua script that can be called on any connection. */
export type Script = (
  redis: Redis,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>;

/**
 * Makes a script of Lua source. Called by its hash, and with its source where the server does not
 * know it (first use, restart, failover), so nothing has to be loaded before.
 *
 * The shebang makes Redis (7.0 and later) refuse a script before its first command when memory is
 * full, the disk cannot be written or the server is a replica: a script runs whole or not at all, so
 * long as it makes its reads, which can meet a value of the wrong type, before its writes.
 */
export function script(lua: string): Script {
  const source = `#!lua\n${lua}`;
  const sha = createHash('sha1').update(source).digest('hex');
  return async (redis, keys, args) => {
    try {
      return await redis.evalsha(sha, keys.length, ...keys, ...args);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return redis.eval(source, keys.length, ...keys, ...args);
    }
  };
}
