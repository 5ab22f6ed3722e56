import { Tabs } from '@mantine/core';
import { type ComponentType, lazy, Suspense } from 'react';
import { useTranslations } from 'use-intl';
import { useSearchParams } from 'wouter';
import { Nothing, Waiting } from '../parts/standing.tsx';
import { useSession, type Workspace } from '../session.tsx';
import { PageHead } from '../shell.tsx';

/** Its settings, by the address; those of all workspaces are an administrator's. */
const TABS = [
  ['workspace', false, lazy(() => import('../settings/workspace.tsx'))],
  ['fields', false, lazy(() => import('../settings/fields.tsx'))],
  ['retention', false, lazy(() => import('../settings/retention.tsx'))],
  ['operators', true, lazy(() => import('../settings/operators.tsx'))],
  ['tokens', true, lazy(() => import('../settings/tokens.tsx'))],
] as const satisfies readonly (readonly [
  string,
  boolean,
  ComponentType<{ workspace: Workspace }>,
])[];

export default function SettingsPage() {
  const t = useTranslations('settings');
  const leads = useTranslations('leads');
  const { workspace, may } = useSession();
  const [params, setParams] = useSearchParams();
  if (workspace === null) return <Nothing icon="settings" title={leads('noWorkspace')} />;
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
            <Suspense fallback={<Waiting />}>
              <Panel key={workspace.id} workspace={workspace} />
            </Suspense>
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}
