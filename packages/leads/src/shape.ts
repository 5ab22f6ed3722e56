/**
 * What the posts of a link usually have, and when new ones have it no more: a form whose field was renamed is
 * accepted, and its leads lack what they had. Pure: the same posts give the same.
 */

/** How many of a link's posts had a field, as a share. */
interface FieldShare {
  /** Of the last weeks. */
  usual: number;
  /** Of the last posts, about twenty. */
  recent: number;
  /** Whether the two have parted; so until they meet again, or the new is what is usual. */
  drifted: boolean;
}

export interface LinkShape {
  posts: number;
  /** Milliseconds since 1970: of the first post, and of the last. */
  since: number;
  seenAt: number;
  /** By name: a key of a lead, or the pointer of a key that is none, with a question mark before it. */
  fields: Record<string, FieldShare>;
}

const UNKNOWN = '?';

const DAY_MS = 86_400_000;
/** Less is no history. */
const LEAST_POSTS = 100;
const LEAST_MS = 3 * DAY_MS;

/** What is recent is of so many posts. What is usual is of as many and of as long: a week of the new is usual. */
const RECENT_POSTS = 20;
const USUAL_POSTS = 500;
const USUAL_MS = 10 * DAY_MS;

/** Nearly all, and nearly none: when the two part. They meet again at a half. */
const NEARLY_ALL = { usual: 0.9, recent: 0.75 };
const NEARLY_NONE = { usual: 0.1, recent: 0.2 };
const HALF = 0.5;

/** Senders name keys as they like: of more names the rarest go. */
const MOST_FIELDS = 100;
const RARE = 0.01;

/** A link's shape once it has seen so many posts more with these fields. */
export function seeShape(
  before: LinkShape | null,
  { fields: names, posts, at }: { fields: readonly string[]; posts: number; at: number },
): LinkShape {
  const known = before ?? { posts: 0, since: at, seenAt: at, fields: {} };
  const isLearned = known.posts >= LEAST_POSTS && at - known.since >= LEAST_MS;
  const ofAll = posts / (known.posts + posts);
  const ofPosts = shareOf(posts, USUAL_POSTS);
  const ofTime = 1 - Math.exp(-Math.max(0, at - known.seenAt) / USUAL_MS);
  const usual = isLearned ? Math.min(ofPosts, ofTime) : Math.max(ofAll, ofPosts);
  // What is apart is usual after a week, however few posts that is.
  const usualOf = (was: FieldShare) => (was.drifted ? ofTime : usual);
  const recent = known.posts === 0 ? 1 : shareOf(posts, RECENT_POSTS);
  const has = new Set(names);
  const fields: [string, FieldShare][] = [];
  for (const name of new Set([...Object.keys(known.fields), ...names])) {
    const was = known.fields[name] ?? { usual: 0, recent: 0, drifted: false };
    const is = has.has(name) ? 1 : 0;
    const now = {
      usual: was.usual + usualOf(was) * (is - was.usual),
      recent: was.recent + recent * (is - was.recent),
    };
    const drifted = isLearned && (was.drifted ? isApart(now) : hasParted(name, now));
    if (Math.max(now.usual, now.recent) >= RARE) fields.push([name, { ...now, drifted }]);
  }
  if (fields.length > MOST_FIELDS)
    fields.sort(([, a], [, b]) => b.usual + b.recent - a.usual - a.recent).splice(MOST_FIELDS);
  return {
    posts: known.posts + posts,
    since: known.since,
    seenAt: Math.max(at, known.seenAt),
    fields: Object.fromEntries(fields),
  };
}

/** How much of an average over `most` posts the last `posts` are. */
const shareOf = (posts: number, most: number): number => 1 - (1 - 1 / most) ** posts;

type Shares = Pick<FieldShare, 'usual' | 'recent'>;

/** A key that is no field is no loss if it goes, and a field no news if it comes. */
const hasParted = (name: string, { usual, recent }: Shares): boolean =>
  name.startsWith(UNKNOWN)
    ? usual <= NEARLY_NONE.usual && recent >= NEARLY_ALL.recent
    : usual >= NEARLY_ALL.usual && recent <= NEARLY_NONE.recent;

const isApart = ({ usual, recent }: Shares): boolean => usual < HALF !== recent < HALF;

/** What new posts of a link lack that nearly all had, and what nearly all have that is no field of a lead. */
export interface Drift {
  lacks: string[];
  has: string[];
}

/** Null: posts are as usual. */
export function driftOf({ fields }: LinkShape): Drift | null {
  const drifted = Object.entries(fields)
    .flatMap(([name, { drifted }]) => (drifted ? [name] : []))
    .sort();
  if (drifted.length === 0) return null;
  return {
    lacks: drifted.filter((name) => !name.startsWith(UNKNOWN)),
    has: drifted.filter((name) => name.startsWith(UNKNOWN)).map((name) => name.slice(1)),
  };
}
