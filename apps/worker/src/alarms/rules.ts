/**
 * When somebody should look: pure rules over counts. Rates are posts an hour; times are milliseconds since
 * 1970.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_HOURS = 24;
const WEEK_HOURS = 168;

/** What a link has had: posts by hour of the week (UTC, from Sunday), over so many days up to now. */
export interface LinkHistory {
  /** 168 of them. */
  posts: readonly number[];
  days: number;
}

/** How many posts an hour are usual, by hour of the week. */
export type LinkProfile = readonly number[];

/** Less is no history: a campaign that begins is none that is silent. */
const LEAST_DAYS = 3;
const LEAST_POSTS = 24;

/**
 * What is usual of a link: the hour of the day times the day of the week. Four weeks have four of each hour
 * of the week, and far more of these two. Null if there is too little to say.
 */
export function profileOf({ posts, days }: LinkHistory): LinkProfile | null {
  const all = sum(posts);
  if (days < LEAST_DAYS || all < LEAST_POSTS) return null;
  const perDay = all / days;
  const byHour = Array.from({ length: DAY_HOURS }, (_, hour) =>
    sum(posts.filter((_, slot) => slot % DAY_HOURS === hour)),
  );
  const byDay = Array.from({ length: 7 }, (_, day) => {
    // In less than a week, not every day was there.
    if (days < 7) return 1;
    const own = sum(posts.slice(day * DAY_HOURS, (day + 1) * DAY_HOURS));
    return own / (days / 7) / perDay;
  });
  return Array.from(
    { length: WEEK_HOURS },
    (_, slot) =>
      ((byHour[slot % DAY_HOURS] ?? 0) / days) * (byDay[Math.floor(slot / DAY_HOURS)] ?? 1),
  );
}

/** The hour of the week that a moment is in: 1970 began on a Thursday. */
export const slotOf = (at: number): number =>
  (Math.floor(at / HOUR_MS) + 4 * DAY_HOURS) % WEEK_HOURS;

/** How many posts are usual between two moments. */
export function expectedPosts(profile: LinkProfile, from: number, to: number): number {
  let posts = 0;
  for (let at = from; at < to;) {
    const end = Math.min(to, at - (at % HOUR_MS) + HOUR_MS);
    posts += ((profile[slotOf(at)] ?? 0) * (end - at)) / HOUR_MS;
    at = end;
  }
  return posts;
}

/** How far back is looked for how much of the usual there is of late: a holiday, a smaller budget. */
export const LEVEL_MS = 6 * HOUR_MS;

/** Silence is told within so long: from 60 and 5 posts an hour on, or a tenth less, as that is estimated. */
const PROMISES = [
  { rate: 54, withinMs: 10 * MINUTE_MS },
  { rate: 4.5, withinMs: 2 * HOUR_MS },
];
/** Of the promise: the rest is for looking once in a while. */
const IN_TIME = 0.94;

/** Over ln of the gaps of four weeks: one false alarm in e to this many times as long, of posts by chance. */
const CERTAINTY = 4;

export interface LinkSilence {
  /** How many posts would have been usual since the last one. */
  expected: number;
}

/**
 * Whether a link has been without posts for longer than its own history makes plausible. Posts by chance
 * have a gap of x usual ones once in e^x: four weeks of N posts have one of ln N. Only if that is longer
 * than what is promised does it tell earlier. Of late less than usual, beyond chance, is usual for now.
 */
export function silence(
  profile: LinkProfile,
  {
    lastPostAt,
    recentPosts,
    now,
  }: {
    lastPostAt: number;
    /** In `LEVEL_MS` up to the last post. */
    recentPosts: number;
    now: number;
  },
): LinkSilence | null {
  const usual = expectedPosts(profile, lastPostAt, now);
  // One is no silence.
  if (usual < 3) return null;
  const before = expectedPosts(profile, lastPostAt - LEVEL_MS, lastPostAt);
  const level = before === 0 ? 1 : Math.min(1, (recentPosts + 2 * Math.sqrt(before)) / before);
  const expected = usual * level;
  const byChance = Math.log(4 * sum(profile) + 1) + CERTAINTY;
  const ofLate = before < 30 ? 1 : Math.min(2, Math.max(0.5, recentPosts / before));
  const rate = (usual / (now - lastPostAt)) * HOUR_MS * ofLate;
  const promise = PROMISES.find((one) => rate >= one.rate);
  const needed =
    promise === undefined
      ? byChance
      : Math.min(byChance, (IN_TIME * usual * promise.withinMs) / (now - lastPostAt));
  return expected >= needed ? { expected: Math.round(expected) } : null;
}

export interface Answered {
  posts: number;
  refused: number;
}

const LEAST_REFUSED = 20;

/** Whether the share of refused posts has jumped: to a half, and to three times what is usual. */
export function refusals(recent: Answered, usual: Answered): { share: number } | null {
  if (recent.refused < LEAST_REFUSED) return null;
  const share = recent.refused / recent.posts;
  const before = (usual.refused + 1) / (usual.posts + 2);
  return share >= 0.5 && share >= 3 * before ? { share } : null;
}

/** What waits longer is late, whatever the reason. */
const LATE_MS = 5 * MINUTE_MS;

export function queueAge(oldestWaitingMs: number | null): { minutes: number } | null {
  return oldestWaitingMs !== null && oldestWaitingMs >= LATE_MS
    ? { minutes: Math.floor(oldestWaitingMs / MINUTE_MS) }
    : null;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, n) => all + n, 0);
