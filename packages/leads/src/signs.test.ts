import { describe, expect, test } from 'vitest';
import { takeSigns } from './lead.ts';

describe('the signs of a post', () => {
  test('are taken off the lead, wherever a form or the snippet put them', () => {
    const body = {
      email: 'ana@example.com',
      website: '',
      _filledMs: 1234.5,
      'h-captcha-response': 'token',
      customFields: { plan: 'gold', website: 'http://spam.example', 'g-recaptcha-response': 'x' },
    };
    expect(takeSigns(body, 'website')).toEqual({
      body: { email: 'ana@example.com', customFields: { plan: 'gold' } },
      signs: { trapped: true, filledMs: 1234.5, ageMs: null, captchaToken: 'token' },
    });
  });

  test('of a link without a honeypot leave a field of that name alone', () => {
    const body = { customFields: { website: 'https://ana.example.com' } };
    expect(takeSigns(body, null).body).toEqual(body);
    expect(takeSigns(body, null).signs.trapped).toBe(false);
  });

  test.each([undefined, null, '', '  '])('a honeypot with %j in it caught nobody', (website) => {
    expect(takeSigns({ website }, 'website').signs.trapped).toBe(false);
  });

  test.each([['bees'], [['a', 'b']], [0], [false], [{}]])('one with %j did', (website) => {
    expect(takeSigns({ website }, 'website').signs.trapped).toBe(true);
  });

  test.each([
    ['1500', 1500],
    [0, 0],
    [-1, null],
    ['soon', null],
    [null, null],
    [1e300, null],
    [[1], null],
  ])('a fill time of %j is %j', (_filledMs, filledMs) => {
    expect(takeSigns({ _filledMs }, null).signs.filledMs).toBe(filledMs);
  });

  test('a token that no service would give is none', () => {
    const token = (text: unknown) => takeSigns({ 'cf-turnstile-response': text }, null).signs;
    expect(token('x'.repeat(4_097)).captchaToken).toBeNull();
    expect(token(['x']).captchaToken).toBeNull();
    expect(token(' ').captchaToken).toBeNull();
  });

  test('of what is no object are none, and keys that name prototypes stay as they are', () => {
    for (const body of [null, [], 'text', 7]) expect(takeSigns(body, 'x').body).toEqual(body);
    const body: unknown = JSON.parse('{"__proto__":{"x":1},"customFields":{"__proto__":"y"}}');
    expect(JSON.stringify(takeSigns(body, 'toString').body)).toBe(JSON.stringify(body));
    expect(takeSigns(body, 'toString').signs.trapped).toBe(false);
  });
});
