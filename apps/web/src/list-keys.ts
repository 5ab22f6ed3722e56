import { useHotkeys } from '@mantine/hooks';
import { useState } from 'react';

/**
 * j and k go through a list, unless one types, and `keys` act on the row that is gone to: its index, -1 as long as
 * there is none. `go` shows a row; without it, the `.row` is focused.
 */
export function useListKeys(
  count: number,
  keys: Readonly<Record<string, (index: number) => void>> = {},
  go = (index: number): void => document.querySelectorAll<HTMLElement>('.row')[index]?.focus(),
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
    ...Object.entries(keys).map(([key, act]): [string, () => void] => [
      key,
      () => at >= 0 && at < count && act(at),
    ]),
  ]);
  return Math.min(at, count - 1);
}
