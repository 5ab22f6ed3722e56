import { describe, expect, test } from 'vitest';
import { addressLimitKey, keptAddress, readAddress } from './admit.ts';

describe('readAddress', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:5012', '203.0.113.7'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['2001:db8::1', '2001:db8::1'],
  ])('reads %s as proxies write it', (text, address) => {
    expect(readAddress(text)).toBe(address);
  });

  test.each(['', 'unknown', '_hidden', '203.0.113', "'; DROP TABLE lead"])(
    'takes %j for no address',
    (text) => {
      expect(readAddress(text)).toBeNull();
    },
  );
});

describe('addressLimitKey', () => {
  test('counts a whole /64 as one sender: a subscriber can take any address of it', () => {
    const key = addressLimitKey('2001:db8:1:2::1');
    expect(addressLimitKey('2001:db8:1:2:ffff:ffff:ffff:ffff')).toBe(key);
    expect(addressLimitKey('2001:db8:1:3::1')).not.toBe(key);
  });

  test('counts an IPv4 address once, mapped or not', () => {
    expect(addressLimitKey('::ffff:203.0.113.7')).toBe(addressLimitKey('203.0.113.7'));
    expect(addressLimitKey('203.0.113.8')).not.toBe(addressLimitKey('203.0.113.7'));
  });

  test('shows no address', () => {
    expect(addressLimitKey('203.0.113.7')).toMatch(/^address:[\w-]{22}$/);
    expect(addressLimitKey(null)).toMatch(/^address:[\w-]{22}$/);
  });
});

describe('keptAddress', () => {
  test.each([
    ['203.0.113.7', 'full', '203.0.113.7'],
    ['::ffff:203.0.113.7', 'full', '203.0.113.7'],
    ['203.0.113.7', 'truncated', '203.0.113.0'],
    ['2001:db8:1:2::1', 'full', '2001:db8:1:2::1'],
    ['2001:db8:1:2::1', 'truncated', '2001:db8:1::'],
    ['203.0.113.7', 'none', undefined],
  ] as const)('keeps of %s (%s) %s', (address, keep, kept) => {
    expect(keptAddress(address, keep)).toBe(kept);
  });

  test('keeps nothing of an address that is not known', () => {
    expect(keptAddress(null, 'full')).toBeUndefined();
  });
});
