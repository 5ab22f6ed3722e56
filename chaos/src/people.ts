import type { Submission } from '@leadgate/contract';
import type { Random } from './random.ts';
import type { Target } from './targets.ts';

/** What a landing page posts: once, or again until it hears 202. */
export interface Post {
  /** Its number, which its body tells too (utmContent). */
  post: number;
  key: string | null;
  target: Target;
  body: string;
}

/** So few that most posts are of somebody who was there before. */
const PEOPLE = 2_000;

const email = (n: number): string => `person.${n}@example.com`;
const telephone = (n: number): string => `+55 11 9${(80_000_000 + n).toString()}`;

/** The mark by which a stored submission is found to be of a post. */
export const markOf = (post: number): string => `post-${post}`;

/**
 * The mark of the post that a submission is of: of its body, as that of a sender with names of its own is not
 * understood before it was read again by its link's mapping.
 */
export const markIn = ({ lead, body }: Pick<Submission, 'lead' | 'body'>): string =>
  lead.utmContent ?? /post-\d+/.exec(body)?.[0] ?? '';

/** Nothing that a lead has; it is kept with the body, and fills a spool in seconds. */
const essay = (random: Random): string =>
  Array.from({ length: 3_000 }, () => random.next().toString(36).slice(2)).join(' ');

/**
 * The next post. Three of four have a key. Of the people, some give only one identity, some the
 * phone of another (their emails and phones cross), a few none.
 */
export function nextPost(post: number, targets: [Target, ...Target[]], random: Random): Post {
  const person = random.below(PEOPLE);
  const crossed = random.chance(0.05) ? random.below(PEOPLE) : person;
  const identity = random.next();
  const lead = {
    ...(identity < 0.9 && { email: email(person) }),
    ...((identity < 0.75 || (identity > 0.9 && identity < 0.98)) && {
      telephone: telephone(crossed),
    }),
    ...(random.chance(0.8) && { name: `Person ${person} of post ${post}` }),
    ...(random.chance(0.3) && { city: random.pick(['São Paulo', 'Recife', 'Curitiba']) }),
    ...(random.chance(0.3) && { birthday: random.pick(['1990-01-01', '1985-12-31']) }),
    ...(random.chance(0.3) && {
      address: { street: `Rua ${random.below(100)}`, number: random.below(1_000) },
    }),
    ...(random.chance(0.3) && {
      customFields: { plano: random.pick(['pro', 'basic']), horario: random.pick(['9h', '15h']) },
    }),
    utmContent: markOf(post),
  };
  const isLong = random.chance(0.1);
  const key = random.chance(0.75) ? `key-${post}` : null;
  // Most posts are of senders who are known.
  const asked = random.chance(0.25);
  const [first, ...others] = targets.filter(({ isForeign }) => isForeign === asked);
  const target = random.pick(first === undefined ? targets : [first, ...others]);
  const sent = target.isForeign
    ? { form: lead }
    : { ...lead, ...(isLong && { essay: essay(random) }) };
  return { post, key, target, body: JSON.stringify(sent) };
}
