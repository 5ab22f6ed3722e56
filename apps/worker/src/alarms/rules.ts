/**
 * When somebody should look: pure rules over counts. Rates are posts an hour; times are milliseconds since
 * 1970.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_HOURS = 24;
const WEEK_HOURS = 168;

/** What a link has had: posts by hour of the week (UTC, from Sunday), over so many days up to now. */
interface LinkHistory {
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

/** Silence is told within so long: from 60 and 5 posts an hour on, or less, as that is estimated. */
const PROMISES = [
  { rate: 52, withinMs: 10 * MINUTE_MS },
  { rate: 4.2, withinMs: 2 * HOUR_MS },
];
/** Of the promise: the rest is for looking once in a while. */
const IN_TIME = 0.94;

/** Over ln of the gaps of four weeks: one false alarm in e to this many times as long, of posts by chance. */
const CERTAINTY = 4;
/** The same once it was told by chance in the last four weeks: once a month is enough. */
const CERTAINTY_AFTER = 8;
/** Told by chance so often in four weeks, it is told in the promised time only if chance hardly takes that long. */
const MOST_TOLD = 2;

interface LinkSilence {
  /** How many posts would have been usual since the last one. */
  expected: number;
  /** How long that is. */
  minutes: number;
}

/** Posts, and how many would have been usual. */
export interface Traffic {
  posts: number;
  expected: number;
}

/**
 * Whether a link has been without posts for longer than its own history makes plausible. Posts by chance
 * have a gap of x usual ones once in e^x: four weeks of N posts have one of ln N. Only if that is longer
 * than what is promised does it tell earlier. Of late less than usual, beyond chance, is usual for now; so is
 * what all links of a workspace have less.
 */
export function silence(
  profile: LinkProfile,
  {
    lastPostAt,
    recentPosts,
    others,
    told,
    now,
  }: {
    lastPostAt: number;
    /** In `LEVEL_MS` up to the last post. */
    recentPosts: number;
    /** Of the other links of its workspace since the last post. */
    others: Traffic;
    /** How often it was told in the last four weeks when it was chance. */
    told: number;
    now: number;
  },
): LinkSilence | null {
  const usual = expectedPosts(profile, lastPostAt, now);
  // One is no silence.
  if (usual < 3) return null;
  const forMs = now - lastPostAt;
  const before = expectedPosts(profile, lastPostAt - LEVEL_MS, lastPostAt);
  const ofAll = holidayLevel(others);
  const own = before === 0 ? 1 : Math.min(1, (recentPosts + 2 * Math.sqrt(before)) / before);
  const expected = usual * Math.min(own, ofAll);
  const byChance = gapOfMonth(profile) + (told > 0 ? CERTAINTY_AFTER : CERTAINTY);
  const ofLate = before < 30 ? 1 : Math.min(2, Math.max(0.25, recentPosts / before));
  const rate = (usual / forMs) * HOUR_MS * Math.min(ofLate, ofAll);
  const promise = PROMISES.find((one) => rate >= one.rate);
  const isPromised =
    promise !== undefined &&
    forMs >= IN_TIME * promise.withinMs &&
    (told < MOST_TOLD || (IN_TIME * promise.withinMs * rate) / HOUR_MS >= gapOfMonth(profile));
  if (expected < byChance && !isPromised) return null;
  return { expected: Math.round(expected), minutes: Math.round(forMs / MINUTE_MS) };
}

/** The longest gap of four weeks by chance, in usual posts. */
const gapOfMonth = (profile: LinkProfile): number => Math.log(4 * sum(profile) + 1);

/** A silence that ended before so many usual posts was chance, and no outage. */
export const isChance = (profile: LinkProfile, expected: number): boolean =>
  expected < 2 * (gapOfMonth(profile) + CERTAINTY);

const LEAST_TRAFFIC = 30;

/** A holiday is between these shares of the usual: more is none, and less is an outage of all. */
const HOLIDAY = { least: 0.25, most: 0.8 };

function holidayLevel({ posts, expected }: Traffic): number {
  if (expected < LEAST_TRAFFIC) return 1;
  const share = posts / expected;
  return share < HOLIDAY.least || share > HOLIDAY.most
    ? 1
    : Math.min(1, (posts + 2 * Math.sqrt(posts)) / expected);
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
