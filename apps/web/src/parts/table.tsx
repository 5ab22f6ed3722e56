import { Skeleton, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';

/** What a column is called; `keep`: on a telephone too, where the first cell says what the others do. */
type Column = string | { text: string; keep?: true; number?: true };

/** A list, a row a thing. `acts`: what its last cell does, which is seen without; `waits`: its rows are on their way. */
export function Table({
  columns,
  acts,
  inset = false,
  waits = false,
  children,
}: {
  columns: readonly Column[];
  acts?: string;
  inset?: boolean;
  waits?: boolean;
  children: ReactNode;
}) {
  return (
    <table className={inset ? 'list inset' : 'list'} aria-busy={waits}>
      <thead>
        <tr>
          {columns.map((column) => {
            const { text, keep, number } = typeof column === 'string' ? { text: column } : column;
            return (
              <th key={text} scope="col" data-keep={keep} className={number && 'number'}>
                {text}
              </th>
            );
          })}
          {acts !== undefined && (
            <th scope="col" data-keep>
              <VisuallyHidden>{acts}</VisuallyHidden>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {waits
          ? [1, 2, 3].map((one) => (
              <tr key={one}>
                <td colSpan={columns.length}>
                  <Skeleton height={18} />
                </td>
              </tr>
            ))
          : children}
      </tbody>
    </table>
  );
}
