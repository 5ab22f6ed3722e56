import { describe, expect, test } from 'vitest';
import { readConfig } from '@leadgate/boot';
import { ReceiverConfig } from './config.ts';

const REDIS_URL = 'redis://127.0.0.1:6379';

describe('ReceiverConfig', () => {
  test('needs only to know where Redis is', () => {
    expect(readConfig(ReceiverConfig, { REDIS_URL })).toMatchObject({
      RECEIVER_PORT: 3000,
      TRUST_PROXY: [],
      KEEP_ADDRESS: 'full',
    });
    expect(() => readConfig(ReceiverConfig, {})).toThrow(/REDIS_URL/);
  });

  test('describes every setting', () => {
    for (const setting of Object.values(ReceiverConfig.properties))
      expect(setting).toHaveProperty('description', expect.stringMatching(/.{10}/));
  });

  test('believes proxies by address, network or name', () => {
    const TRUST_PROXY = '10.0.0.0/8, 203.0.113.7, 2001:db8::/32, loopback';
    expect(readConfig(ReceiverConfig, { REDIS_URL, TRUST_PROXY }).TRUST_PROXY).toHaveLength(4);
  });

  test.each(['true', '1', '10.0.0.0/33', '10.0.0/8', '2001:db8::/129', 'proxy.example.com'])(
    'does not believe every sender because of TRUST_PROXY=%s',
    (TRUST_PROXY) => {
      expect(() => readConfig(ReceiverConfig, { REDIS_URL, TRUST_PROXY })).toThrow(/TRUST_PROXY/);
    },
  );
});
