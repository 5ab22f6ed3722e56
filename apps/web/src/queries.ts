import {
  useMutation,
  useQuery,
  useQueryClient,
  type UseQueryOptions,
  type UseQueryResult,
} from '@tanstack/react-query';
import { useCallback } from 'react';
import { type Answer, ask, type Input, type Path } from './api.ts';
import type { paths } from './generated/api.ts';

interface Asked<T> extends Pick<
  UseQueryOptions<T>,
  'enabled' | 'refetchInterval' | 'retry' | 'retryDelay' | 'staleTime'
> {
  path?: object;
  query?: object;
}

/** What the API answers at an address, kept under it and what is asked of it. */
export function useGet<P extends Path<'get'>>(
  address: P,
  asked: Input<P, 'get'> & Asked<Answer<P, 'get'>>,
): UseQueryResult<Answer<P, 'get'>> {
  const { path = {}, query = {}, ...options }: Asked<Answer<P, 'get'>> = asked;
  return useQuery({
    queryKey: [address, path, query],
    queryFn: () => ask<Answer<P, 'get'>>('GET', address, { path, query }),
    ...options,
  });
}

/** The beginning of what something is kept under: an address of the API, or the name of what is put together of several. */
type Stale = keyof paths | 'inbox' | typeof EVERYTHING;
export const EVERYTHING = '';

/** Has what was known of these asked for again. */
export function useAskAgain(): (...stale: readonly Stale[]) => Promise<void> {
  const queries = useQueryClient();
  return useCallback(
    (...stale) =>
      queries.invalidateQueries({
        predicate: ({ queryKey: [first] }) => stale.some((one) => String(first).startsWith(one)),
      }),
    [queries],
  );
}

/** Something that is changed by the API: what was known of `stale` is asked for again, then comes what is next. */
export function useChange<A = void, R = unknown>(
  stale: readonly Stale[],
  change: (asked: A) => Promise<R>,
  next?: (answer: R) => void,
) {
  const askAgain = useAskAgain();
  return useMutation({
    mutationFn: change,
    onSuccess: async (answer) => {
      await askAgain(...stale);
      next?.(answer);
    },
  });
}
