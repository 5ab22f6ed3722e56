import type { ComponentType } from 'react';
import { useTranslations } from 'use-intl';
import { AddressTabs } from '../parts/address-tabs.tsx';
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
  return (
    <>
      <PageHead title={t('title')} />
      <div className="page-body">
        <AddressTabs
          tabs={TABS.filter(([, everywhere]) => !everywhere || may('administrator')).map(
            ([name, , Panel]) => ({
              ...{ name, label: t(`tab.${name}`) },
              panel: <Panel workspace={workspace} />,
            }),
          )}
        />
      </div>
    </>
  );
}
