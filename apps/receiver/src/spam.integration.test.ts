import { describe, expect, test } from 'vitest';
import type { LinkGuard } from '@leadgate/contract';
import { openApp } from '../test/receiver.ts';

const NONE: LinkGuard = { honeypot: null, minFillMs: null, captcha: null };
const guard = (more: Partial<LinkGuard>) => ({ link: { guard: { ...NONE, ...more } } });
const CAPTCHA = { verifyUrl: 'https://captcha.example.com/', secret: 's3cret' };

const ANA = { email: 'ana@example.com', name: 'Ana' };
const SPAM = { ...ANA, website: 'http://spam.example' };
const KEYS = ['email:ana@example.com'];

describe('a post that is caught', () => {
  test('is answered as any other, claims nobody’s email, and waits for an operator', async () => {
    const receiver = await openApp(guard({ honeypot: 'website' }));
    const caught = await receiver.post(SPAM);
    const taken = await receiver.post(ANA);
    expect(caught.statusCode).toBe(202);
    expect(Object.keys(caught.headers)).toEqual(Object.keys(taken.headers));
    expect(caught.json()).toEqual({ leadId: receiver.enqueued[0]?.leadId });
    expect(receiver.reserved.map(({ held }) => held)).toEqual(['honeypot', undefined]);
    expect(receiver.enqueued[0]).toMatchObject({
      held: { reason: 'honeypot', keys: KEYS },
      identities: [],
      lead: ANA,
      body: JSON.stringify(SPAM),
      notes: [],
    });
    expect(receiver.enqueued[1]).not.toHaveProperty('held');
  });

  test('is still told what is wrong with it, as any other', async () => {
    const receiver = await openApp(guard({ honeypot: 'website' }));
    expect((await receiver.post({ ...SPAM, email: 'nobody' })).statusCode).toBe(422);
  });

  test('is one that was sent faster than anyone types, where it says how fast', async () => {
    const receiver = await openApp(guard({ minFillMs: 3_000 }));
    await receiver.post({ ...ANA, _filledMs: 2_999 });
    await receiver.post({ ...ANA, _filledMs: 3_000 });
    await receiver.post(ANA);
    expect(receiver.enqueued.map(({ held }) => held?.reason)).toEqual([
      'too-quick',
      undefined,
      undefined,
    ]);
    expect(receiver.enqueued.every(({ notes }) => notes.length === 0)).toBe(true);
  });

  test.each([
    ['passed', 'open', undefined],
    ['failed', 'open', 'captcha'],
    ['unreachable', 'open', undefined],
    ['unreachable', 'closed', 'captcha-unreachable'],
  ] as const)('by a CAPTCHA that says %s (fail %s) is held for %s', async (said, fail, reason) => {
    const asked: unknown[] = [];
    const receiver = await openApp({
      ...guard({ captcha: { ...CAPTCHA, fail } }),
      services: {
        verifyCaptcha: (captcha, token) => {
          asked.push([captcha.verifyUrl, captcha.secret, token]);
          return Promise.resolve(said);
        },
      },
    });
    await receiver.post('email=ana%40example.com&cf-turnstile-response=t0ken', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(asked).toEqual([[CAPTCHA.verifyUrl, CAPTCHA.secret, 't0ken']]);
    expect(receiver.submission().held?.reason).toBe(reason);
    expect(receiver.submission().notes.map(({ code }) => code)).toEqual(
      said === 'unreachable' && fail === 'open' ? ['captcha-unchecked'] : [],
    );
  });

  test('without a token asks no CAPTCHA', async () => {
    const receiver = await openApp({
      ...guard({ captcha: { ...CAPTCHA, fail: 'open' } }),
      services: { verifyCaptcha: () => Promise.reject(new Error('asked')) },
    });
    await receiver.post(ANA);
    expect(receiver.submission().held?.reason).toBe('captcha');
  });

  test('goes to the spool like any other when Redis is away, and claims nothing there', async () => {
    const spooled: unknown[] = [];
    const receiver = await openApp({
      ...guard({ honeypot: 'website' }),
      beforeReserve: (redis) => redis.disconnect(),
      services: {
        spool: {
          append: (record) => {
            spooled.push(record.submission);
            return Promise.resolve('kept');
          },
        },
        isOnDisk: () => true,
      },
    });
    expect((await receiver.post(SPAM)).statusCode).toBe(202);
    expect(spooled).toMatchObject([{ held: { reason: 'honeypot', keys: KEYS }, identities: [] }]);
  });
});

describe('a repeat under an idempotency key', () => {
  const headers = { 'idempotency-key': 'k-1' };

  test('is the same body though its fill time and its token are not', async () => {
    const receiver = await openApp();
    await receiver.post({ ...ANA, _filledMs: 1, 'h-captcha-response': 'a' }, { headers });
    await receiver.post({ ...ANA, _filledMs: 2, 'h-captcha-response': 'b' }, { headers });
    await receiver.post(ANA, { headers });
    const hashes = receiver.reserved.map(({ idempotency }) => idempotency?.bodyHash);
    expect(new Set(hashes).size).toBe(1);
  });
});
