import { Button, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Failure } from './standing.tsx';

/** The end of a form on a page: what was wrong, whether it was done, and the button that sends it. */
export function FormEnd({
  act: { error, isPending, isSuccess },
  label,
  done,
  children,
}: {
  act: { error: Error | null; isPending: boolean; isSuccess: boolean };
  label: string;
  /** Said once it was done, if the page stays. */
  done?: string;
  /** What stands before the button. */
  children?: ReactNode;
}) {
  return (
    <>
      {error !== null && <Failure error={error} />}
      <Group justify="flex-end" mt="md">
        {isSuccess && done !== undefined && (
          <Text size="sm" c="var(--good)" role="status">
            {done}
          </Text>
        )}
        {children}
        <Button type="submit" loading={isPending}>
          {label}
        </Button>
      </Group>
    </>
  );
}
