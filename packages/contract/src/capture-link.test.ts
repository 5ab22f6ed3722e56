import { expect, test } from 'vitest';
import { readCaptureLink, type CaptureLink } from './capture-link.ts';

const link: CaptureLink = {
  linkId: 'k',
  workspaceId: 'w',
  country: 'BR',
  dummyPhones: ['+5511912345678'],
  state: 'open',
  expiresAt: null,
  mode: 'strict',
  requireIdentity: false,
  origins: ['https://example.com'],
  allowServers: true,
  redirectUrl: null,
  linkLimit: null,
  addressLimit: 60,
};

test('an entry is read as it was written', () => {
  expect(readCaptureLink(JSON.stringify(link))).toEqual(link);
  const guard = {
    honeypot: 'website',
    minFillMs: null,
    captcha: { verifyUrl: 'https://example.com/verify', secret: 's', fail: 'closed' },
  };
  expect(readCaptureLink(JSON.stringify({ ...link, guard }))).toEqual({ ...link, guard });
  const closed = { ...link, state: 'disabled', expiresAt: 1_750_000_000_000 };
  expect(readCaptureLink(JSON.stringify(closed))).toEqual(closed);
});

test('a field that a newer version adds does not close the link', () => {
  expect(readCaptureLink(JSON.stringify({ ...link, added: 1 }))).toMatchObject(link);
});

test.each(['', '{', 'null', '[]', '"open"', '1', '{}', `${JSON.stringify(link)},`])(
  '%j is not an entry',
  (text) => {
    expect(readCaptureLink(text)).toBeNull();
  },
);

test.each(Object.keys(link))('an entry without %s is not one', (key) => {
  expect(readCaptureLink(JSON.stringify({ ...link, [key]: undefined }))).toBeNull();
});

test.each([
  { state: 'open ' },
  { mode: 'loose' },
  { expiresAt: '2026-07-01' },
  { expiresAt: 1.5 },
  { origins: 'https://example.com' },
  { origins: [null] },
  { dummyPhones: null },
  { requireIdentity: 'false' },
  { linkLimit: 0.5 },
  { workspaceId: 7 },
  { guard: {} },
  { guard: { honeypot: null, minFillMs: 1.5, captcha: null } },
])('an entry with %j is not one', (wrong) => {
  expect(readCaptureLink(JSON.stringify({ ...link, ...wrong }))).toBeNull();
});

test('an entry that the first version wrote is read, whatever was added since', () => {
  const first =
    '{"linkId":"k","workspaceId":"w","country":"BR","dummyPhones":[],"state":"open","expiresAt":null,"mode":"strict","requireIdentity":false,"origins":[],"allowServers":true,"redirectUrl":null,"linkLimit":null,"addressLimit":null}';
  expect(readCaptureLink(first)).toEqual(JSON.parse(first));
});
