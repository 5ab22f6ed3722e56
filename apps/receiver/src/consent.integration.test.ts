import { signConsenter } from '@leadgate/intake';
import { describe, expect, test, vi } from 'vitest';
import { LINK, openApp } from '../test/receiver.ts';

const KEY = 'a key of the tests, long enough to sign with';
const leadId = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const consenter = { workspaceId: LINK.workspaceId, leadId, linkId: LINK.linkId };
const url = `/consent/${signConsenter(KEY, consenter)}`;
const config = {
  ...{ RATE_LIMIT_LINK: 60_000, RATE_LIMIT_ADDRESS: 6_000, KEEP_ADDRESS: 'full' as const },
  CONSENT_KEY: KEY,
};

describe('a link of ours', () => {
  test.each([
    ['pt-BR,en;q=0.5', 'pt', 'Retirar o consentimento'],
    ['en-GB', 'en', 'Withdraw your consent'],
    ['es-419', 'es', 'Retirar el consentimiento'],
    [undefined, 'pt', 'Retirar o consentimento'],
  ])('asks in the language of %s, and changes nothing', async (languages, language, title) => {
    const { app, reserved } = await openApp({ services: { config } });
    const headers = languages === undefined ? {} : { 'accept-language': languages };
    const page = await app.inject({ url, headers });
    expect(page.statusCode).toBe(200);
    expect(page.body).toContain(`<html lang="${language}">`);
    expect(page.body).toContain(`<h1>${title}</h1>`);
    expect(page.body).toContain('<form method="post"><button>');
    expect(page.headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'") as string,
    });
    expect((await app.inject({ method: 'HEAD', url })).statusCode).toBe(200);
    expect(reserved).toEqual([]);
  });

  test.each([
    [undefined, undefined],
    ['application/x-www-form-urlencoded', ''],
    ['application/x-www-form-urlencoded', 'List-Unsubscribe=One-Click'],
    ['multipart/form-data; boundary=x', '--x--'],
  ])('withdraws by a post (%s %j), under the lead that it is for', async (type, body) => {
    const receiver = await openApp({ services: { config } });
    const answer = await receiver.app.inject({
      ...{ method: 'POST', url },
      headers: {
        'accept-language': 'en',
        'user-agent': 'Browser/1',
        ...(type && { 'content-type': type }),
      },
      ...(body !== undefined && { body }),
    });
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toContain('Consent withdrawn');
    expect(receiver.submission()).toMatchObject({
      ...consenter,
      ...{ source: 'withdrawal', lead: {}, identities: [], body: '', userAgent: 'Browser/1' },
      ...{ consent: { given: false, language: 'en' }, address: '127.0.0.1' },
    });
  });

  test('that was signed with the key before stays good', async () => {
    const { app, submission } = await openApp({
      services: { config: { ...config, CONSENT_KEY: `${KEY}!`, CONSENT_KEY_BEFORE: KEY } },
    });
    expect((await app.inject({ method: 'POST', url })).statusCode).toBe(200);
    expect(submission().leadId).toBe(leadId);
  });

  test('works while Redis is away: the withdrawal waits in the spool; without one, it is said', async () => {
    const append = vi.fn(() => Promise.resolve('kept' as const));
    const spooling = await openApp({ services: { config, spool: { append } } });
    spooling.redis.disconnect();
    expect((await spooling.app.inject({ method: 'POST', url })).body).toContain('retirado');
    expect(append.mock.calls).toMatchObject([[{ submission: { ...consenter } }]]);

    const without = await openApp({ services: { config } });
    without.redis.disconnect();
    const answer = await without.app.inject({ method: 'POST', url });
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('5');
    expect(answer.body).toContain('Ainda não foi registrado');
  });

  test('is counted by address', async () => {
    const receiver = await openApp({ services: { config: { ...config, RATE_LIMIT_ADDRESS: 2 } } });
    const statuses: number[] = [];
    for (let n = 0; n < 4; n++) statuses.push((await receiver.app.inject({ url })).statusCode);
    expect(statuses).toEqual([200, 200, 429, 429]);
  });
});

test.each([
  ['of another key', signConsenter(`${KEY}!`, consenter)],
  ['that was changed', `${signConsenter(KEY, consenter).slice(0, -1)}_`],
  ['that was cut', signConsenter(KEY, consenter).slice(0, 40)],
  ['of no bytes', '%00'],
])('an address %s is no link, and says so to a person', async (_, token) => {
  const { app, reserved } = await openApp({ services: { config } });
  for (const method of ['GET', 'POST'] as const) {
    const answer = await app.inject({ method, url: `/consent/${token}` });
    expect(answer.statusCode).toBe(404);
    expect(answer.body).toContain('Este link não é válido');
  }
  expect(reserved).toEqual([]);
});

test('a longer body than a button sends is refused', async () => {
  const { app, reserved } = await openApp({ services: { config } });
  const headers = { 'content-type': 'text/plain' };
  const answer = await app.inject({ method: 'POST', url, headers, body: 'x'.repeat(2_000) });
  expect(answer.statusCode).toBeGreaterThanOrEqual(400);
  expect(reserved).toEqual([]);
});
