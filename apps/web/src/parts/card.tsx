import { Group, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** A part of a page, with what stands beside its title. */
export const Card = ({
  title,
  aside,
  children,
}: {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
}) => (
  <section className="card lead-card">
    <Group justify="space-between" mb={10}>
      <Title order={2}>{title}</Title>
      {aside}
    </Group>
    {children}
  </section>
);
