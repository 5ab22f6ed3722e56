import { expect, test } from 'vitest';
import {
  expectedPosts,
  isChance,
  LEVEL_MS,
  profileOf,
  queueAge,
  refusals,
  silence,
  slotOf,
  type LinkProfile,
  type Traffic,
} from './rules.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LINKS = 500;
const DAYS = 28;
/** A Sunday. */
const START = Date.parse('2026-09-06T00:00:00Z');
const WATCHED = START + DAYS * DAY;
const HOLIDAYS = [WATCHED + 8 * DAY, WATCHED + 19 * DAY];

/** mulberry32. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const random = createRandom(17);
const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

interface Link {
  /** Posts an hour at a moment. */
  rate: (at: number) => number;
  /** When it is told to be quiet, at its end. */
  endsAt: number;
}

/** Of any size, with its own rhythm of days and weeks, days that are better or worse, and holidays. */
function createLink(n: number): Link {
  const peak = Math.exp(random() * Math.log(150));
  const noon = 12 + 8 * random();
  const weekend = 0.4 + 0.8 * random();
  const depth = 0.3 + 0.65 * random();
  const days = Array.from({ length: 2 * DAYS }, () => Math.exp(0.1 * normal()));
  return {
    rate(at) {
      const day = Math.floor((at - START) / DAY);
      const isHoliday = HOLIDAYS.some((one) => at >= one && at < one + DAY);
      const isWeekend = [0, 6].includes(new Date(at).getUTCDay());
      const hour = (at % DAY) / HOUR;
      const rhythm = 1 - (depth * (1 - Math.cos((2 * Math.PI * (hour - noon)) / 24))) / 2;
      return peak * rhythm * (days[day] ?? 1) * (isWeekend ? weekend : 1) * (isHoliday ? 0.4 : 1);
    },
    endsAt: n % 10 === 0 ? WATCHED + DAYS * DAY * random() : Infinity,
  };
}

/** What came by a link, by chance at its rate: four weeks by hour, then four weeks post by post. */
interface Past {
  posts: readonly number[];
  /** A profile each watched day, of the four weeks before it. */
  profiles: readonly (LinkProfile | null)[];
}

function pastOf({ rate, endsAt }: Link): Past {
  const byHour: number[] = [];
  const posts: number[] = [];
  for (let hour = START; hour < WATCHED + DAYS * DAY; hour += HOUR) {
    const usual = rate(hour + HOUR / 2);
    const before = posts.length;
    if (hour < WATCHED) byHour.push(Math.max(0, Math.round(usual + Math.sqrt(usual) * normal())));
    else {
      const step = () => (-Math.log(1 - random()) / usual) * HOUR;
      for (let at = hour + step(); at < hour + HOUR && at < endsAt; at += step()) posts.push(at);
      byHour.push(posts.length - before);
    }
  }
  const profiles = Array.from({ length: DAYS }, (_, day) => {
    const slots = new Array<number>(168).fill(0);
    for (let hour = day * 24; hour < (day + DAYS) * 24; hour++) {
      const slot = slotOf(START + hour * HOUR);
      slots[slot] = (slots[slot] ?? 0) + (byHour[hour] ?? 0);
    }
    return profileOf({ posts: slots, days: DAYS });
  });
  return { posts, profiles };
}

/** As the minute before a moment: how many posts are before it. */
function countBefore(posts: readonly number[], at: number): number {
  let [low, high] = [0, posts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((posts[middle] ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Of all links together by hour, added up: one among so many makes no difference. */
const traffic = { posts: [0], expected: [0] };

/** Since the begin of an hour, as it is counted by hours. */
function othersSince(last: number, now: number): Traffic {
  const from = Math.max(0, Math.floor((last - WATCHED) / HOUR));
  const to = Math.floor((now - WATCHED) / HOUR);
  const since = (sums: readonly number[]) => {
    const [whole = 0, next = 0] = sums.slice(to, to + 2);
    return whole + ((next - whole) * (now % HOUR)) / HOUR - (sums[from] ?? 0);
  };
  return { posts: since(traffic.posts), expected: since(traffic.expected) };
}

/** When silence is told, looked for every minute from the last post until a moment; null: it is not. */
function toldAt(
  { posts, profiles }: Past,
  last: number,
  until: number,
  told: number,
): number | null {
  const lastPostAt = last - (last % MINUTE) + MINUTE / 2;
  const recentPosts = countBefore(posts, last + 1) - countBefore(posts, last - LEVEL_MS);
  for (let now = last - (last % MINUTE) + MINUTE; now < until; now += MINUTE) {
    const profile = profiles[Math.floor((now - WATCHED) / DAY)] ?? null;
    if (profile === null) continue;
    const others = othersSince(last, now);
    if (silence(profile, { lastPostAt, recentPosts, others, told, now }) !== null) return now;
  }
  return null;
}

const links = Array.from({ length: LINKS }, (_, n) => createLink(n));
const pasts = links.map(pastOf);
for (let hour = 0; hour < DAYS * 24; hour++) {
  const at = WATCHED + hour * HOUR;
  let [came, usual] = [0, 0];
  for (const { posts, profiles } of pasts) {
    came += countBefore(posts, at + HOUR) - countBefore(posts, at);
    usual += profiles[Math.floor(hour / 24)]?.[slotOf(at)] ?? 0;
  }
  traffic.posts.push((traffic.posts.at(-1) ?? 0) + came);
  traffic.expected.push((traffic.expected.at(-1) ?? 0) + usual);
}

test('silence is told in time, and hardly ever without cause: 500 links, 28 days', () => {
  let alarms = 0;
  let most = 0;
  /** Of each link, when it was told to be silent by chance. */
  const chances = pasts.map((): number[] => []);
  const toldBefore = (n: number, at: number) =>
    (chances[n] ?? []).filter((one) => one <= at && one > at - DAYS * DAY).length;
  for (const [n, past] of pasts.entries()) {
    let own = 0;
    const { rate } = links[n] ?? expect.fail();
    for (let i = countBefore(past.posts, WATCHED + LEVEL_MS); i + 1 < past.posts.length; i++) {
      const [last = 0, next = 0] = past.posts.slice(i, i + 2);
      // A gap that no rule would tell is not looked at minute by minute.
      if ((next - last) * Math.max(rate(last), rate(next)) < 3 * HOUR) continue;
      if (toldAt(past, last, next, toldBefore(n, last)) === null) continue;
      own += 1;
      const profile = past.profiles[Math.floor((last - WATCHED) / DAY)] ?? expect.fail();
      if (isChance(profile, expectedPosts(profile, last, next))) chances[n]?.push(next);
    }
    alarms += own;
    most = Math.max(most, own);
  }

  const delays = { fast: [] as number[], slow: [] as number[] };
  for (const [n, past] of pasts.entries()) {
    const { rate, endsAt } = links[n] ?? expect.fail();
    for (let round = 0; round < 12; round++) {
      const at = WATCHED + LEVEL_MS + random() * (DAYS - 2) * DAY;
      if (at > endsAt || HOLIDAYS.some((one) => at > one - 2 * HOUR && at < one + DAY)) continue;
      const least = (ms: number) => Math.min(...[0, ms / 2, ms].map((after) => rate(at + after)));
      const found = () => {
        const last = past.posts[countBefore(past.posts, at) - 1] ?? at;
        return ((toldAt(past, last, at + DAY, toldBefore(n, last)) ?? at + DAY) - at) / MINUTE;
      };
      if (least(10 * MINUTE) >= 60) delays.fast.push(found());
      else if (least(2 * HOUR) >= 5) delays.slow.push(found());
    }
  }
  const inTime = (list: readonly number[], within: number) =>
    list.filter((minutes) => minutes <= within).length / list.length;
  // Of a rule that knows every rate and tells each silence in the last moment: chance alone.
  const byChance = links.map(({ rate }) => {
    let gaps = 0;
    for (let at = WATCHED + HOUR / 2; at < WATCHED + DAYS * DAY; at += HOUR)
      if (rate(at) >= 5) gaps += rate(at) * Math.exp(-rate(at) * (rate(at) >= 60 ? 1 / 6 : 2));
    return gaps;
  });
  const figures = {
    atLeastByChance: byChance.reduce((all, gaps) => all + gaps) / LINKS,
    linksWithTwoByChance: byChance.reduce((all, m) => all + 1 - Math.exp(-m) * (1 + m), 0),
    falseAlarmsALink: alarms / LINKS,
    mostOfALink: most,
    fast: { n: delays.fast.length, inTime: inTime(delays.fast, 10) },
    slow: { n: delays.slow.length, inTime: inTime(delays.slow, 120) },
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(figures.atLeastByChance).toBeGreaterThan(0.03);
  expect(figures.falseAlarmsALink).toBeLessThanOrEqual(0.25);
  expect(figures.mostOfALink).toBeLessThanOrEqual(2);
  expect(figures.fast.n).toBeGreaterThan(150);
  expect(figures.slow.n).toBeGreaterThan(500);
  expect(figures.fast.inTime).toBeGreaterThan(0.97);
  expect(figures.slow.inTime).toBeGreaterThan(0.99);
}, 240_000);

test('a link without history is not watched', () => {
  const posts = new Array<number>(168).fill(5);
  expect(profileOf({ posts, days: 2 })).toBeNull();
  expect(profileOf({ posts: new Array<number>(168).fill(0), days: 28 })).toBeNull();
  const profile = profileOf({ posts, days: 28 }) ?? expect.fail();
  expect(expectedPosts(profile, START, START + 7 * DAY)).toBeCloseTo(210);
});

test('a share of refusals that jumps is told, one that was there before is not', () => {
  expect(refusals({ posts: 40, refused: 30 }, { posts: 1_000, refused: 10 })).toEqual({
    share: 0.75,
  });
  expect(refusals({ posts: 40, refused: 30 }, { posts: 1_000, refused: 400 })).toBeNull();
  expect(refusals({ posts: 10, refused: 10 }, { posts: 1_000, refused: 0 })).toBeNull();
  expect(queueAge(null)).toBeNull();
  expect(queueAge(6 * MINUTE)).toEqual({ minutes: 6 });
});
