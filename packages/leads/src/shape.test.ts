import { expect, test } from 'vitest';
import { driftOf, seeShape, type LinkShape } from './shape.ts';

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;
const START = Date.parse('2026-09-06T00:00:00Z');

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

const FIELDS = ['email', 'name', 'telephone', 'city', 'utmSource', 'utmCampaign', 'birthday'];

interface Link {
  perDay: number;
  /** What a post of a moment has. */
  fieldsAt: (at: number) => string[];
}

/** Fields that all, most, half or few have, a second form for hours, and days whose traffic has no campaign. */
function createLink(random: () => number): Link {
  const shares = FIELDS.map((name, n) =>
    n < 2 ? 0.985 + 0.015 * random() : name.startsWith('utm') ? 1 : random(),
  );
  const organic = 0.3 * random();
  const otherForm = Math.floor(random() * 24);
  return {
    perDay: Math.exp(Math.log(4) + random() * Math.log(12)),
    fieldsAt(at) {
      const day = Math.floor(at / DAY);
      const share = Math.min(1, organic * (0.5 + ((day * 7919) % 100) / 100));
      const isOrganic = random() < share;
      const isOther = Math.floor(at / (60 * MINUTE)) % 24 === otherForm && random() < 0.5;
      return [
        ...FIELDS.filter((name, n) => {
          if (name.startsWith('utm')) return !isOrganic;
          if (isOther && name === 'telephone') return false;
          return random() < (shares[n] ?? 0);
        }),
        ...(isOther ? ['?/whatsapp'] : []),
        ...(random() < 0.03 ? ['?/debug'] : []),
      ];
    },
  };
}

test('a renamed field is found within fifty posts, and hardly ever is one found that was not: 500 links, 28 days', () => {
  const random = createRandom(17);
  const falseAlarms: number[] = [];
  const foundAfter: number[] = [];
  for (let n = 0; n < 500; n++) {
    const { perDay, fieldsAt } = createLink(random);
    let shape: LinkShape | null = null;
    let alarms = 0;
    let wasDrifted = false;
    const step = DAY / perDay;
    let at = START;
    for (; at < START + 38 * DAY; at += step * (0.1 + 1.8 * random())) {
      shape = seeShape(shape, { fields: fieldsAt(at), posts: 1, at });
      const isDrifted = driftOf(shape) !== null;
      if (isDrifted && !wasDrifted && at >= START + 10 * DAY) alarms += 1;
      wasDrifted = isDrifted;
    }
    falseAlarms.push(alarms);
    if (shape === null || shape.posts < 100 || driftOf(shape) !== null) continue;
    let posts = 0;
    let found = false;
    while (!found && posts < 200) {
      posts += 1;
      at += step;
      const fields = fieldsAt(at).map((name) => (name === 'email' ? '?/e_mail' : name));
      shape = seeShape(shape, { fields, posts: 1, at });
      const drift = driftOf(shape);
      found = drift?.lacks.includes('email') === true && drift.has.includes('/e_mail');
    }
    foundAfter.push(posts);
  }
  const figures = {
    renamed: foundAfter.length,
    foundAfterMost: Math.max(...foundAfter),
    falseAlarmsALink: falseAlarms.reduce((sum, n) => sum + n, 0) / falseAlarms.length,
    mostOfALink: Math.max(...falseAlarms),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(figures.renamed).toBeGreaterThan(450);
  expect(figures.foundAfterMost).toBeLessThanOrEqual(50);
  expect(figures.mostOfALink).toBeLessThanOrEqual(1);
}, 240_000);

/** A link whose posts had these for so many days, twenty a day. */
function usual(fields: readonly string[], days: number): LinkShape {
  let shape: LinkShape | null = null;
  for (let n = 0; n <= days * 20; n++)
    shape = seeShape(shape, { fields, posts: 1, at: START + (n * DAY) / 20 });
  return shape ?? expect.fail();
}
const next = (shape: LinkShape, fields: readonly string[], posts: number, afterMs: number) =>
  seeShape(shape, { fields, posts, at: shape.seenAt + afterMs });

test('it is over once posts are as before, or once the new is usual', () => {
  const before = usual(['email', 'name'], 10);
  const renamed = next(before, ['name', '?/e_mail'], 40, 20 * MINUTE);
  expect(driftOf(renamed)).toEqual({ lacks: ['email'], has: ['/e_mail'] });
  const mended = next(renamed, ['email', 'name'], 20, 20 * MINUTE);
  expect(driftOf(mended)).toBeNull();
  let kept = renamed;
  for (let day = 0; day < 3; day++) kept = next(kept, ['name', '?/e_mail'], 2_000, DAY);
  expect(driftOf(kept)).not.toBeNull();
  for (let day = 0; day < 6; day++) kept = next(kept, ['name', '?/e_mail'], 2_000, DAY);
  expect(driftOf(kept)).toBeNull();
});

test('a link that is new has no usual, and a flood of keys is bounded', () => {
  const tests = next(usual(['email'], 1), ['name'], 200, MINUTE);
  expect(driftOf(tests)).toBeNull();
  let shape = usual(['email'], 10);
  for (let n = 0; n < 500; n++) shape = next(shape, ['email', `?/${n.toString()}`], 1, MINUTE);
  expect(Object.keys(shape.fields).length).toBeLessThanOrEqual(100);
  expect(shape.fields['email']?.usual).toBeGreaterThan(0.99);
});
