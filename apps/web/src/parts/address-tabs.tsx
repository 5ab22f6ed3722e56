import { Tabs } from '@mantine/core';
import type { ReactNode } from 'react';
import { useSearchParams } from 'wouter';

/** Parts of a page, of which the address says which is shown; the first one if it says none. */
export function AddressTabs({
  tabs,
}: {
  tabs: readonly { name: string; label: string; panel: ReactNode }[];
}) {
  const [params, setParams] = useSearchParams();
  const shown = tabs.find(({ name }) => name === params.get('tab')) ?? tabs[0];
  return (
    <Tabs
      keepMounted={false}
      value={shown?.name ?? null}
      onChange={(tab) => tab !== null && setParams({ tab }, { replace: true })}
    >
      <Tabs.List mb="md">
        {tabs.map(({ name, label }) => (
          <Tabs.Tab key={name} value={name}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map(({ name, panel }) => (
        <Tabs.Panel key={name} value={name}>
          {panel}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
