import {
  driftedLinks,
  endedSilences,
  type FoundAlarm,
  hoursOfWorkspaces,
  type RecentPosts,
  recentPosts,
  type Store,
  type WatchedLink,
  watchedLinks,
} from '@leadgate/store';
import {
  expectedPosts,
  isChance,
  type LinkProfile,
  profileOf,
  refusals,
  silence,
  type Traffic,
} from './rules.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** What is usual of a link changes with the hour. */
const LEARN_EVERY_MS = HOUR_MS;

interface Watched extends WatchedLink {
  profile: LinkProfile | null;
}

/** Looks after links by what they usually have, which it learns from time to time. */
interface LinkWatch {
  /** What should be looked at now. Rejects when Postgres does not answer. */
  look: (now: number) => Promise<FoundAlarm[]>;
  /** The same of refusals, by what was counted otherwise: as well as can be told without Postgres. */
  lookAtRefusals: (counts: ReadonlyMap<string, { posts: number; refused: number }>) => FoundAlarm[];
}

export function watchLinks(store: Store): LinkWatch {
  let learned = -Infinity;
  let links = new Map<string, Watched>();
  let profiles = new Map<string, LinkProfile>();

  async function learn(now: number): Promise<void> {
    const watched = (await watchedLinks(store)).map((link) => {
      const days = Math.min(28, (now - link.since.getTime()) / DAY_MS);
      const posts = Array.from({ length: 168 }, (_, slot) => link.posts[slot.toString()] ?? 0);
      return { ...link, profile: profileOf({ posts, days }) };
    });
    links = new Map(watched.map((link) => [link.linkId, link]));
    profiles = new Map(
      [...new Set(watched.map(({ workspaceId }) => workspaceId))].map((id) => {
        const own = watched.flatMap(({ workspaceId, profile }) =>
          workspaceId === id && profile !== null ? [profile] : [],
        );
        const at = (slot: number) => own.reduce((sum, profile) => sum + (profile[slot] ?? 0), 0);
        return [id, Array.from({ length: 168 }, (_, slot) => at(slot))];
      }),
    );
  }

  /** What links other than one had since the begin of an hour: they are counted by hours. */
  async function readOthers() {
    const hours = new Map<string, { at: Date; posts: number }[]>();
    for (const hour of await hoursOfWorkspaces(store, [...profiles.keys()]))
      hours.set(hour.workspaceId, [...(hours.get(hour.workspaceId) ?? []), hour]);
    return (
      { workspaceId, profile }: Watched & { profile: LinkProfile },
      { ofHour }: RecentPosts,
      lastPostAt: number,
      now: number,
    ): Traffic => {
      const from = lastPostAt - (lastPostAt % HOUR_MS);
      const posts = (hours.get(workspaceId) ?? []).reduce(
        (sum, hour) => (hour.at.getTime() >= from ? sum + hour.posts : sum),
        -ofHour,
      );
      const all = expectedPosts(profiles.get(workspaceId) ?? [], from, now);
      const expected = all - expectedPosts(profile, from, now);
      return { posts: Math.max(posts, 0), expected };
    };
  }

  /** How often each link was told to be silent of late when it was chance. */
  async function readChances(): Promise<(linkId: string) => number> {
    const ended = await endedSilences(store);
    return (linkId) => {
      const profile = links.get(linkId)?.profile ?? null;
      if (profile === null) return 0;
      return ended.filter((one) => one.linkId === linkId && isChance(profile, one.expected)).length;
    };
  }

  const refusal = ({ linkId, workspaceId, usual }: Watched, counts: Refusals): FoundAlarm[] => {
    const found = refusals(counts, usual);
    const facts = { percent: Math.round((found?.share ?? 0) * 100) };
    return found === null ? [] : [{ kind: 'refusals', subject: linkId, workspaceId, facts }];
  };

  return {
    async look(now) {
      // Of an installation that has just begun, nothing is known for long.
      if (links.size === 0 || performance.now() - learned > LEARN_EVERY_MS) {
        await learn(now);
        learned = performance.now();
      }
      const drifts = new Map((await driftedLinks(store)).map((drift) => [drift.linkId, drift]));
      const othersOf = await readOthers();
      const chancesOf = await readChances();
      const silent = (link: Watched, recent: RecentPosts): FoundAlarm[] => {
        const { linkId, workspaceId, profile } = link;
        if (profile === null) return [];
        // In the middle of its minute, or two days ago.
        const lastPostAt = recent.lastAt?.getTime() ?? now - 2 * DAY_MS;
        const found = silence(profile, {
          lastPostAt: lastPostAt + MINUTE_MS / 2,
          recentPosts: recent.recent,
          others: othersOf({ ...link, profile }, recent, lastPostAt, now),
          told: chancesOf(linkId),
          now,
        });
        if (found === null) return [];
        return [{ kind: 'silence', subject: linkId, workspaceId, facts: { ...found } }];
      };
      return (await recentPosts(store, [...links.keys()])).flatMap((recent) => {
        const link = links.get(recent.linkId);
        if (link === undefined || recent.quiet) return [];
        const { linkId: subject, workspaceId } = link;
        const drift = drifts.get(subject);
        return [
          ...refusal(link, recent),
          ...silent(link, recent),
          ...(drift === undefined
            ? []
            : [{ kind: 'drift' as const, subject, workspaceId, facts: namesOf(drift) }]),
        ];
      });
    },
    lookAtRefusals: (counts) =>
      [...links.values()].flatMap((link) => {
        const own = counts.get(link.linkId);
        return own === undefined ? [] : refusal(link, own);
      }),
  };
}

type Refusals = Parameters<typeof refusals>[0];

/** As many as say what happened. */
const MOST_NAMED = 10;

/** Names of fields, as a person reads them. */
function namesOf(drift: { lacks: string[]; has: string[] }): Record<string, string> {
  const entries = [
    ['lacks', drift.lacks],
    ['has', drift.has],
  ] as const;
  return Object.fromEntries(
    entries.flatMap(([name, fields]) =>
      fields.length === 0 ? [] : [[name, fields.slice(0, MOST_NAMED).join(', ')]],
    ),
  );
}
