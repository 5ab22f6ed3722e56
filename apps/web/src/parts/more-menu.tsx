import { ActionIcon, Menu } from '@mantine/core';
import type { ReactNode } from 'react';
import { Icon } from './icon.tsx';

/** What else can be done: `Menu.Item`s behind three dots. `quiet`: in a row of a list. */
export function MoreMenu({
  label,
  quiet = false,
  children,
}: {
  label: string;
  quiet?: boolean;
  children: ReactNode;
}) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon
          {...(quiet ? { variant: 'subtle', color: 'gray' } : { variant: 'default', size: 30 })}
          aria-label={label}
        >
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}
