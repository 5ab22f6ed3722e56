import { Button, Group, Stack } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import { useTranslations } from 'use-intl';
import { Link, useLocation } from 'wouter';
import { api } from '../api.ts';
import { useChange } from '../queries.ts';
import { EndpointFields, formOf, settingsOf } from '../endpoint-form.tsx';
import { Secret } from '../parts/secret.tsx';
import { Waiting } from '../parts/standing.tsx';
import type { Workspace } from '../session.tsx';
import { Back, ofWorkspace, PageHead } from '../shell.tsx';
import { PageForm } from '../parts/page-form.tsx';

const Verify = lazy(() => import('../verify.tsx'));

export default ofWorkspace(NewEndpointPage, 'administrator');

function NewEndpointPage({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('endpoint');
  const [form, setForm] = useState(formOf(null));
  const [, go] = useLocation();
  const create = useChange(
    ['/api/endpoints'],
    () =>
      api.post('/api/workspaces/{workspaceId}/endpoints', {
        path: { workspaceId: workspace.id },
        body: { kind: form.kind, ...settingsOf(form) },
      }),
    ({ id, secret }) => {
      if (secret === null) go(`/deliveries/${id}`);
    },
  );
  const head = <Back to="/deliveries" label={t('back')} />;
  const made = create.data;
  if (made !== undefined && made.secret !== null)
    return (
      <>
        <PageHead title={made.name} before={head} />
        <Stack className="page-body narrow" gap="lg">
          <Secret title={t('secret')} text={made.secret} hint={t('secretHint')} />
          <Suspense fallback={<Waiting />}>
            <Verify />
          </Suspense>
          <Group justify="flex-end">
            <Button component={Link} href={`/deliveries/${made.id}`}>
              {t('go')}
            </Button>
          </Group>
        </Stack>
      </>
    );
  return (
    <>
      <PageHead title={t('new')} before={head} />
      <div className="page-body">
        <PageForm act={create} label={t('create')} cancel="/deliveries">
          <EndpointFields
            workspaceId={workspace.id}
            form={form}
            set={setForm}
            error={create.error}
            known={null}
          />
        </PageForm>
      </div>
    </>
  );
}
