import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';

/** Something that is changed by the API: what was known of `stale` is asked for again, then comes what is next. */
export function useChange<A = void, R = unknown>(
  stale: QueryKey,
  change: (asked: A) => Promise<R>,
  next?: (answer: R) => void,
) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: async (answer) => {
      await queries.invalidateQueries({ queryKey: stale });
      next?.(answer);
    },
  });
}
