import { describe, expect, test } from 'vitest';
import { redactUrl } from './logger.ts';
import { readRedisAddress } from './config.ts';

describe('REDIS_URL', () => {
  test('one URL is one server, as it stands', () => {
    const url = 'rediss://user:secret@redis.example.com:6380/3';
    expect(readRedisAddress(url)).toEqual({ kind: 'server', url });
  });

  test('a comma in a password makes no Cluster of one server', () => {
    const url = 'redis://:s3c,ret@redis.example.com';
    expect(readRedisAddress(url)).toEqual({ kind: 'server', url });
  });

  test('several URLs are nodes of a Cluster', () => {
    const address = readRedisAddress('redis://:a%20b@one:7001, redis://:a%20b@two:7002/0');
    expect(address).toEqual({
      kind: 'cluster',
      nodes: [
        { host: 'one', port: 7001 },
        { host: 'two', port: 7002 },
      ],
      login: { password: 'a b' },
      tls: false,
    });
  });

  test('protocol, user and password of the first stand for nodes that name only a host', () => {
    const address = readRedisAddress('rediss://app:s3cret@one:7001,two:7002,[::1]:7003,four');
    expect(address).toEqual({
      kind: 'cluster',
      nodes: [
        { host: 'one', port: 7001 },
        { host: 'two', port: 7002 },
        { host: '::1', port: 7003 },
        { host: 'four', port: 6379 },
      ],
      login: { username: 'app', password: 's3cret' },
      tls: true,
    });
  });

  test('one URL is a node of a Cluster where the settings say so', () => {
    expect(readRedisAddress('redis://seed', { cluster: true })).toEqual({
      kind: 'cluster',
      nodes: [{ host: 'seed', port: 6379 }],
      login: {},
      tls: false,
    });
  });

  test.each([
    ['http://one', 'must be a URL'],
    ['redis://one,', 'must be a URL'],
    ['one,redis://two', 'must be a URL'],
    ['redis://one:7001,two:port', 'must be a URL'],
    ['redis://one/1,redis://two/1', 'must not name a database'],
    ['redis://one,rediss://two', 'same protocol'],
    ['redis://:hunter2@one,redis://:hunter3@two', 'same protocol, user and password'],
  ])('%s is refused without being repeated', (text, message) => {
    const read = () => readRedisAddress(text);
    expect(read).toThrow(message);
    expect(read).not.toThrow('hunter');
  });
});

test('passwords of several nodes are all hidden', () => {
  const text = 'redis://:hunter2@one:7001/0,redis://app:hunter2@two:7002,app:hunter2@three:7003';
  expect(redactUrl(text)).not.toContain('hunter2');
});
