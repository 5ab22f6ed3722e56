import { phoneKeyOf } from '@leadgate/leads';
import { expect, test } from 'vitest';
import { DEMO_LINKS, demoPosts } from './posts.ts';

const until = Date.UTC(2026, 10, 28, 3, 17);
const posts = demoPosts({ seed: 1, until });
const hours = (ms: number) => ms / 3_600_000;

test('a demo is two weeks up to now, at any hour, and the same for the same seed', () => {
  expect(demoPosts({ seed: 1, until })).toEqual(posts);
  expect(posts.length).toBeGreaterThan(1_200);
  expect(posts.length).toBeLessThan(2_600);
  expect(posts.map(({ at }) => at)).toEqual(posts.map(({ at }) => at).toSorted((a, b) => a - b));
  expect(hours(until - (posts[0]?.at ?? 0)) / 24).toBeCloseTo(14, 0);
  expect(hours(until - (posts.at(-1)?.at ?? 0))).toBeLessThan(0.1);
});

test('one of its links fell silent a day ago, and of another a fifth is refused', () => {
  const last = DEMO_LINKS.map((_, link) => posts.findLast((post) => post.link === link)?.at ?? 0);
  const silent = DEMO_LINKS.flatMap(({ quietHours }, link) => (quietHours > 0 ? link : []));
  expect(silent).toEqual([2]);
  expect(hours(until - (last[2] ?? 0))).toBeGreaterThan(26);
  const faulty = (link: number) => {
    const own = posts.filter((post) => post.link === link);
    return own.filter(
      ({ body }) => !/@|^\(/.test(`${said(body['email'])}${said(body['telephone'])}`),
    ).length;
  };
  expect(faulty(3)).toBeGreaterThan(5);
});

const said = (value: unknown): string => (typeof value === 'string' ? value : '');

test('nobody in it lives: addresses are of examples, and no telephone of Brazil begins with 90', () => {
  for (const { body, address, page } of posts) {
    const email = said(body['email']);
    if (email.includes('@')) expect(email).toMatch(/^[a-z]+\.[a-z]+\d+@example\.(com|org|net)$/);
    const telephone = said(body['telephone']);
    if (/^\(\d\d\) \d{5}-\d{4}$/.test(telephone)) {
      expect(telephone).toMatch(/^\(\d\d\) 90/);
      expect(phoneKeyOf(telephone, 'BR')).toMatch(/^\+55\d{2}90\d{7}$/);
    }
    expect(address).toMatch(/^(192\.0\.2|198\.51\.100|203\.0\.113)\.\d{1,3}$/);
    expect(new URL(page).hostname).toBe('www.example.com');
    expect(body).not.toHaveProperty('document');
  }
});
