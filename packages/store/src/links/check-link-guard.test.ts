import { expect, test } from 'vitest';
import { checkLinkGuard } from './check-link-guard.ts';
import type { LinkGuardSettings } from './link.ts';

const NONE: LinkGuardSettings = { honeypot: null, minFillSeconds: null, captcha: null };
const CAPTCHA = {
  verifyUrl: 'https://captcha.example.com/verify',
  secret: '0x4AAA',
  fail: 'open',
} as const;
const pointers = (guard: Partial<LinkGuardSettings>) =>
  checkLinkGuard({ ...NONE, ...guard }).map(({ pointer }) => pointer);

test('a guard of anything sensible is fine, and of nothing', () => {
  expect(pointers({})).toEqual([]);
  expect(pointers({ honeypot: 'website', minFillSeconds: 2.5, captcha: CAPTCHA })).toEqual([]);
});

test.each([
  'email',
  'city',
  'consent',
  'customFields',
  '_gotcha',
  'token',
  'captcha2',
  'a b',
  '',
  '1x',
])('a honeypot named %j would catch people, or nobody', (honeypot) => {
  expect(pointers({ honeypot })).toEqual(['/guard/honeypot']);
});

test.each([0, -1, 61, NaN])('a minimum fill time of %d seconds is none', (minFillSeconds) => {
  expect(pointers({ minFillSeconds })).toEqual(['/guard/minFillSeconds']);
});

test.each([
  'http://captcha.example.com/',
  'https://user:pass@captcha.example.com/',
  'ftp://127.0.0.1/',
  'http://127.0.0.1.example.com/',
  'captcha.example.com',
  '',
])('a secret is not sent to %j', (verifyUrl) => {
  const found = checkLinkGuard({ ...NONE, captcha: { ...CAPTCHA, verifyUrl } });
  expect(found.map(({ pointer }) => pointer)).toEqual(['/guard/captcha/verifyUrl']);
  expect(JSON.stringify(found)).not.toContain(CAPTCHA.secret);
});

test.each([
  ...['https://127.0.0.1:9/', 'https://localhost/', 'https://[::1]:9/', 'https://10.0.0.1/'],
  ...[
    'https://2130706433/',
    'https://0x7f.1/',
    'https://[::ffff:7f00:1]/',
    'https://169.254.169.254/',
  ],
  ...['http://127.0.0.1:9/', 'http://localhost/', 'https://redis/'],
])('no address leads inside: %s', (verifyUrl) => {
  expect(pointers({ captcha: { ...CAPTCHA, verifyUrl } })).toEqual(['/guard/captcha/verifyUrl']);
});

test.each(['', 'two words', 'x'.repeat(513), 'línea'])('%j is no secret', (secret) => {
  expect(pointers({ captcha: { ...CAPTCHA, secret } })).toEqual(['/guard/captcha/secret']);
});
