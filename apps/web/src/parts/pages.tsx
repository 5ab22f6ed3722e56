import { Button, Group } from '@mantine/core';
import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Waiting } from './standing.tsx';

/** The rows of a list that is asked for page after page, and what brings the next one. */
export function Pages<T>({
  list: { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage },
  none,
  more,
  children,
}: {
  list: UseInfiniteQueryResult<InfiniteData<readonly T[]>>;
  /** In place of an empty list. */
  none: ReactNode;
  /** Of the button. */
  more: string;
  children: (rows: readonly T[]) => ReactNode;
}) {
  const rows = data?.pages.flat() ?? [];
  if (isPending) return <Waiting />;
  return (
    <>
      {rows.length > 0 ? children(rows) : error === null && none}
      {hasNextPage && (
        <Group justify="center" p="md">
          <Button
            variant="default"
            loading={isFetchingNextPage}
            onClick={() => void fetchNextPage()}
          >
            {more}
          </Button>
        </Group>
      )}
    </>
  );
}
