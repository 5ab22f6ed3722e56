import { redisScript, type RedisScript } from '@leadgate/boot';

/**
 * Makes a script of Lua source.
 *
 * The shebang makes Redis (7.0 and later) refuse a script before its first command when memory is
 * full, the disk cannot be written or the server is a replica: a script runs whole or not at all, so
 * long as it makes its reads, which can meet a value of the wrong type, before its writes.
 */
export function script(lua: string): RedisScript {
  return redisScript(`#!lua\n${lua}`);
}
