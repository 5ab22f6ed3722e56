import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { type Answer, api } from './api.ts';
import type { IconName } from './parts/icon.tsx';

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

const refusedHref = ({ cause, linkId }: RefusedCause) =>
  `/inbox/refused?${new URLSearchParams({ cause, link: linkId }).toString()}`;
const heldHref = ({ reason, linkId }: HeldCause) =>
  `/inbox/held?${new URLSearchParams({ reason, link: linkId }).toString()}`;

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
      const causes: Cause[] = [
        ...refused.map((cause): Cause => {
          const { total, newest } = cause;
          const href = refusedHref(cause);
          return { kind: 'refused', key: href, total, newest, href, cause };
        }),
        ...held.map((cause): Cause => {
          const { total, newest } = cause;
          const href = heldHref(cause);
          return { kind: 'held', key: href, total, newest, href, cause };
        }),
        ...failed.map(({ reason, jobs: total, newest }): Cause => {
          const href = `/inbox/failed?${new URLSearchParams({ reason }).toString()}`;
          return { kind: 'failed', key: href, total, newest, href, reason };
        }),
        ...(pairs.length === 0
          ? []
          : [
              {
                ...{ kind: 'duplicates' as const, key: 'duplicates', total: pairs.length },
                ...{ newest: pairs[0]?.since ?? null, href: '/inbox/duplicates' },
                more: pairs.length === MOST_PAIRS,
              },
            ]),
      ];
      return causes.sort((a, b) => b.total - a.total);
    },
    refetchInterval: LOOK_EVERY_MS,
  });
}

/** Has what was decided on go from every list. */
export function useRefreshed(): () => Promise<void> {
  const queries = useQueryClient();
  return useCallback(async () => {
    await Promise.all(
      ['inbox', 'refused', 'held', 'failed', 'duplicates'].map((key) =>
        queries.invalidateQueries({ queryKey: [key] }),
      ),
    );
  }, [queries]);
}
