import { Button, NumberInput, Radio, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useFormatter, useTranslations } from 'use-intl';
import { type Answer, api } from '../api.ts';
import { useChange, useGet } from '../queries.ts';
import { FormModal } from '../parts/form-modal.tsx';
import { Failure, Waiting } from '../parts/standing.tsx';
import { Time } from '../parts/time.tsx';
import { Hint } from '../parts/styled.tsx';
import { useSession, type Workspace } from '../session.tsx';

type Policy = Answer<'/api/workspaces/{workspaceId}/retention', 'get'>[number];

/** For how long a workspace keeps what. */
export function Retention({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('settings.retention');
  const format = useFormatter();
  const { may } = useSession();
  const [edited, setEdited] = useState<Policy | null>(null);
  const { data, error } = useGet('/api/workspaces/{workspaceId}/retention', {
    path: { workspaceId: workspace.id },
  });
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Waiting />;
  return (
    <>
      <Hint mb="sm">{t('hint')}</Hint>
      <ul className="plain settings-list card">
        {data.map((policy) => (
          <li key={policy.kind}>
            <div className="grow">
              <b>{t(`kind.${policy.kind}`)}</b>
              <span className="second">{t(`kindHint.${policy.kind}`)}</span>
              {policy.horizon !== null && (
                <span className="second">
                  {t.rich('gone', { at: () => <Time at={policy.horizon ?? ''} /> })}
                </span>
              )}
            </div>
            <div className="settings-value">
              <b>
                {policy.days === null
                  ? t('forGood')
                  : t('days', { days: format.number(policy.days) })}
              </b>
              <span className="second">{t(`by.${policy.by}`)}</span>
            </div>
            {may('administrator', workspace.id) && (
              <Button
                variant="default"
                aria-label={t('changeOf', { kind: t(`kind.${policy.kind}`) })}
                onClick={() => setEdited(policy)}
              >
                {t('change')}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {edited !== null && (
        <Change workspace={workspace} policy={edited} close={() => setEdited(null)} />
      )}
    </>
  );
}

/** Days are said with what would go at once: it does not come back. */
function Change({
  workspace,
  policy,
  close,
}: {
  workspace: Workspace;
  policy: Policy;
  close: () => void;
}) {
  const t = useTranslations('settings.retention');
  const [own, setOwn] = useState(policy.by === 'workspace');
  const [days, setDays] = useState<number | string>(policy.days ?? 365);
  const path = { workspaceId: workspace.id };
  const wanted = own && Number(days) >= 1 ? Math.round(Number(days)) : null;
  const preview = useGet('/api/workspaces/{workspaceId}/retention/preview', {
    path,
    query: { kind: policy.kind, days: wanted ?? 1 },
    enabled: wanted !== null,
  });
  const save = useChange(
    ['/api/workspaces/{workspaceId}/retention'],
    () =>
      api.post('/api/workspaces/{workspaceId}/retention', {
        path,
        body: { kind: policy.kind, days: wanted },
      }),
    close,
  );
  return (
    <FormModal
      close={close}
      title={t(`kind.${policy.kind}`)}
      label={t('save')}
      act={save}
      danger={(preview.data?.count ?? 0) > 0}
      disabled={own && (wanted === null || preview.data === undefined)}
    >
      <Radio.Group
        aria-label={t(`kind.${policy.kind}`)}
        value={own ? 'own' : 'installation'}
        onChange={(value) => setOwn(value === 'own')}
      >
        <Stack gap={8}>
          <Radio value="installation" label={t('asInstallation')} />
          <Radio value="own" label={t('ownDays')} />
        </Stack>
      </Radio.Group>
      {own && (
        <>
          <NumberInput
            label={t('howLong')}
            min={1}
            max={36_500}
            w={140}
            value={days}
            onChange={setDays}
          />
          <Failure error={preview.error} />
          {preview.data !== undefined && (
            <Text size="sm" role="status" c={preview.data.count > 0 ? 'var(--bad)' : 'var(--soft)'}>
              {t('would', { count: preview.data.count })}
            </Text>
          )}
        </>
      )}
    </FormModal>
  );
}
