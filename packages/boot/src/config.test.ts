import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import {
  ConfigError,
  databaseUrlSetting,
  logLevelSetting,
  portSetting,
  readConfig,
  redisUrlSetting,
} from './config.ts';

const Schema = Type.Object({
  REDIS_URL: redisUrlSetting(),
  PORT: portSetting('the port to listen on', 3000),
  LOG_LEVEL: logLevelSetting(),
  VERBOSE: Type.Boolean({ description: 'whether to tell more', default: false }),
  ORIGINS: Type.Array(Type.String(), { description: 'origins', default: [] }),
  TOKEN: Type.Optional(Type.String({ description: 'the token', minLength: 8 })),
});

const refusal = (env: Record<string, string>): ConfigError => {
  try {
    readConfig(Schema, env);
  } catch (error) {
    if (error instanceof ConfigError) return error;
  }
  throw new Error('was not refused');
};

describe('readConfig', () => {
  test('texts become numbers, booleans and lists, and what is absent its default', () => {
    const config = readConfig(Schema, {
      REDIS_URL: 'redis://127.0.0.1:6379',
      PORT: ' 8080 ',
      VERBOSE: 'Yes',
      ORIGINS: 'https://a.example, https://b.example,',
      HOME: '/root',
    });
    expect(config).toEqual({
      REDIS_URL: 'redis://127.0.0.1:6379',
      PORT: 8080,
      LOG_LEVEL: 'info',
      VERBOSE: true,
      ORIGINS: ['https://a.example', 'https://b.example'],
    });
  });

  test('a blank variable counts as absent, as a compose file writes one', () => {
    expect(readConfig(Schema, { REDIS_URL: 'redis://r', PORT: '', TOKEN: ' ' })).toMatchObject({
      PORT: 3000,
    });
  });

  test('a default that is a list is not shared between two readings', () => {
    const read = () => readConfig(Schema, { REDIS_URL: 'redis://r' });
    read().ORIGINS.push('https://a.example');
    expect(read().ORIGINS).toEqual([]);
  });

  test('every bad variable is in one error, so that nobody mends them one start at a time', () => {
    const error = refusal({ PORT: '70000', LOG_LEVEL: 'loud', VERBOSE: 'perhaps' });
    expect(error.variables).toEqual(['REDIS_URL', 'PORT', 'LOG_LEVEL', 'VERBOSE']);
    expect(error.message).toBe(
      [
        '4 settings are wrong:',
        '  - REDIS_URL (where Redis is; of a Cluster, some nodes with commas between them) is not set; for example REDIS_URL=redis://127.0.0.1:6379.',
        '  - PORT (the port to listen on) must be <= 65535, not 70000; for example PORT=3000.',
        '  - LOG_LEVEL (the least severe lines of the log) must be one of fatal, error, warn, info, debug, trace, silent, not "loud"; for example LOG_LEVEL=info.',
        '  - VERBOSE (whether to tell more) must be boolean, not "perhaps"; for example VERBOSE=false.',
      ].join('\n'),
    );
  });

  test('one bad variable is one sentence', () => {
    expect(refusal({ REDIS_URL: 'redis://r', PORT: '80a' }).message).toBe(
      'PORT (the port to listen on) must be integer, not "80a"; for example PORT=3000.',
    );
  });

  test('a secret is never in the error, not even a URL that cannot be parsed', () => {
    const Urls = Type.Object({ DATABASE_URL: databaseUrlSetting(), REDIS_URL: redisUrlSetting() });
    const env = { DATABASE_URL: 'mysql://u:hunter2@h/db', REDIS_URL: 'hunter2' };
    expect(() => readConfig(Urls, env)).toThrow(/must be a URL that starts with postgresql:\/\//);
    expect(() => readConfig(Urls, env)).not.toThrow(/hunter2/);
    expect(refusal({ REDIS_URL: 'redis://r', TOKEN: 'hunter2' }).message).not.toContain('hunter2');
  });
});
