import { useHotkeys } from '@mantine/hooks';
import { useState } from 'react';

/** j and k go through a list, unless one types; `go` shows the row. -1: none yet. */
export function useListKeys(
  count: number,
  go: (index: number) => void,
  more: readonly [key: string, act: (index: number) => void][] = [],
): number {
  const [at, setAt] = useState(-1);
  const move = (by: number) => {
    const next = Math.min(Math.max(at + by, 0), count - 1);
    if (count === 0) return;
    setAt(next);
    go(next);
  };
  useHotkeys([
    ['j', () => move(1)],
    ['k', () => move(-1)],
    ...more.map(([key, act]): [string, () => void] => [
      key,
      () => at >= 0 && at < count && act(at),
    ]),
  ]);
  return Math.min(at, count - 1);
}
