import type { LinkSettings } from '@leadgate/contract';
import { describe, expect, test } from 'vitest';
import { checkLinkSettings } from './check-link-settings.ts';

const settings: LinkSettings = {
  label: 'Instagram',
  mode: 'strict',
  requireIdentity: false,
  origins: [],
  allowServers: true,
  redirectUrl: null,
  linkLimit: null,
  addressLimit: null,
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
