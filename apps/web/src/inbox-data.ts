import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { type Answer, api } from './api.ts';
import type { IconName } from './parts/icon.tsx';
import { useAskAgain } from './queries.ts';

export type RefusedCause = Answer<'/api/rejected/causes', 'get'>[number];
export type HeldCause = Answer<'/api/held/causes', 'get'>[number];
type FailedReason = Answer<'/api/failed/reasons', 'get'>[number];

/** A group of what needs a person, for one cause. */
export type Cause = { key: string; total: number; newest: string | null; href: string } & (
  | { kind: 'refused'; cause: RefusedCause }
  | { kind: 'held'; cause: HeldCause }
  | { kind: 'failed'; reason: string }
  | { kind: 'duplicates'; more: boolean }
);

export const CAUSE_ICONS: Record<Cause['kind'], IconName> = {
  refused: 'inbox',
  held: 'consent',
  failed: 'warning',
  duplicates: 'merge',
};

const LOOK_EVERY_MS = 15_000;
const MOST_PAIRS = 100;

/** What all causes have: where they lead, by which they are known, how many there are, and since when. */
const at = (href: string, total: number, newest: string | null) => ({
  ...{ key: href, href, total, newest },
});
const of = (query: Record<string, string>) => new URLSearchParams(query).toString();

/** All that needs a person in a workspace, by cause, most first. The queue's is of all workspaces. */
export function useInbox(workspaceId: string, seesAll: boolean) {
  return useQuery({
    queryKey: ['inbox', workspaceId, seesAll],
    queryFn: async (): Promise<Cause[]> => {
      const query = { workspaceId };
      const [refused, held, failed, pairs] = await Promise.all([
        api.get('/api/rejected/causes', { query }),
        api.get('/api/held/causes', { query }),
        seesAll ? api.get('/api/failed/reasons') : Promise.resolve<FailedReason[]>([]),
        api.get('/api/duplicates', { query: { workspaceId, limit: MOST_PAIRS } }),
      ]);
      const causes = [
        ...refused.map((cause): Cause => {
          const href = `/inbox/refused?${of({ cause: cause.cause, link: cause.linkId })}`;
          return { kind: 'refused', cause, ...at(href, cause.total, cause.newest) };
        }),
        ...held.map((cause): Cause => {
          const href = `/inbox/held?${of({ reason: cause.reason, link: cause.linkId })}`;
          return { kind: 'held', cause, ...at(href, cause.total, cause.newest) };
        }),
        ...failed.map(({ reason, jobs, newest }): Cause => ({
          ...{ kind: 'failed', reason },
          ...at(`/inbox/failed?${of({ reason })}`, jobs, newest),
        })),
        ...pairs.slice(0, 1).map(({ since }): Cause => ({
          ...{ kind: 'duplicates', more: pairs.length === MOST_PAIRS },
          ...at('/inbox/duplicates', pairs.length, since),
        })),
      ];
      return causes.sort((a, b) => b.total - a.total);
    },
    refetchInterval: LOOK_EVERY_MS,
  });
}

/** What the lists of what needs a person are kept under. */
export const INBOX = [
  ...(['inbox', '/api/rejected', '/api/held', '/api/failed', '/api/duplicates'] as const),
];

/** Has what was decided on go from every list. */
export function useRefreshed(): () => Promise<void> {
  const askAgain = useAskAgain();
  return useCallback(() => askAgain(...INBOX), [askAgain]);
}
