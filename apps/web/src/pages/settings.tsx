import { Tabs } from '@mantine/core';
import type { ComponentType } from 'react';
import { useTranslations } from 'use-intl';
import { useSearchParams } from 'wouter';
import { useSession, type Workspace } from '../session.tsx';
import { Fields } from '../settings/fields.tsx';
import { Operators } from '../settings/operators.tsx';
import { Retention } from '../settings/retention.tsx';
import { Tokens } from '../settings/tokens.tsx';
import { WorkspaceSettings } from '../settings/workspace.tsx';
import { ofWorkspace, PageHead } from '../shell.tsx';

/** Its settings, by the address; those of all workspaces are an administrator's. */
const TABS = [
  ['workspace', false, WorkspaceSettings],
  ['fields', false, Fields],
  ['retention', false, Retention],
  ['operators', true, Operators],
  ['tokens', true, Tokens],
] as const satisfies readonly (readonly [
  string,
  boolean,
  ComponentType<{ workspace: Workspace }>,
])[];

export default ofWorkspace(SettingsPage);

function SettingsPage({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('settings');
  const { may } = useSession();
  const [params, setParams] = useSearchParams();
  const tabs = TABS.filter(([, everywhere]) => !everywhere || may('administrator'));
  const [tab] = tabs.find(([name]) => name === params.get('tab')) ?? TABS[0];
  return (
    <>
      <PageHead title={t('title')} />
      <Tabs
        className="page-body"
        keepMounted={false}
        value={tab}
        onChange={(next) => setParams({ tab: next ?? 'workspace' }, { replace: true })}
      >
        <Tabs.List mb="md">
          {tabs.map(([name]) => (
            <Tabs.Tab key={name} value={name}>
              {t(`tab.${name}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {tabs.map(([name, , Panel]) => (
          <Tabs.Panel key={name} value={name}>
            <Panel workspace={workspace} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}
