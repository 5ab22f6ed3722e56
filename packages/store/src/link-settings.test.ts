import { LINK_DEFAULTS, type LinkSettings } from '@leadgate/contract';
import { describe, expect, test } from 'vitest';
import { checkLinkGuard, checkLinkSettings, type LinkGuardSettings } from './links.ts';

const settings: LinkSettings = {
  ...LINK_DEFAULTS,
  label: 'Instagram',
};

const origins = (...list: string[]) => checkLinkSettings({ ...settings, origins: list });

describe('origins', () => {
  test.each([
    ['https://example.com', 'https://example.com'],
    [' HTTPS://Example.COM:443 ', 'https://example.com'],
    ['http://localhost:5173', 'http://localhost:5173'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
    ['capacitor://localhost', 'capacitor://localhost'],
  ])('%s is kept as a browser sends it', (given, kept) => {
    expect(origins(given)).toMatchObject({ kind: 'valid', settings: { origins: [kept] } });
  });

  test.each([
    'example.com',
    'https://example.com/',
    'https://example.com/page',
    'https://example.com?x',
    'https://user@example.com',
    'https://*.example.com',
    'https://',
    'https://example.com:99999',
    'https://exa mple.com',
    '*',
    'null',
    '',
  ])('%j, which no browser would send, is refused', (given) => {
    expect(origins('https://ok.example', given)).toMatchObject({
      kind: 'invalid',
      errors: [{ pointer: '/origins/1' }],
    });
  });

  test('one origin written twice is kept once', () => {
    expect(origins('https://a.example', 'https://A.example:443')).toMatchObject({
      settings: { origins: ['https://a.example'] },
    });
  });
});

test.each([
  '/thanks',
  'javascript:alert(1)',
  'data:text/html,x',
  'thanks.example',
  'ftp://a.example',
])('a redirect to %j, which a form must not follow, is refused', (redirectUrl) => {
  expect(checkLinkSettings({ ...settings, redirectUrl })).toMatchObject({
    kind: 'invalid',
    errors: [{ pointer: '/redirectUrl' }],
  });
});

test.each([0, -1, 1.5, Number.NaN, 2 ** 31])('a limit of %d is refused', (linkLimit) => {
  expect(checkLinkSettings({ ...settings, linkLimit })).toMatchObject({
    kind: 'invalid',
    errors: [{ pointer: '/linkLimit' }],
  });
});

test('every setting that is wrong is named at once', () => {
  const outcome = checkLinkSettings({
    ...settings,
    label: 'a\u001bb',
    origins: ['x'],
    redirectUrl: 'x',
    linkLimit: 0,
    addressLimit: 0,
  });
  expect(outcome).toMatchObject({
    errors: [
      { pointer: '/label' },
      { pointer: '/origins/0' },
      { pointer: '/redirectUrl' },
      { pointer: '/linkLimit' },
      { pointer: '/addressLimit' },
    ],
  });
});

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
