import { Button, Group, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { useTranslations } from 'use-intl';
import { Link, useLocation } from 'wouter';
import { api, dataOf, faultsOf } from '../api.ts';
import { EndpointFields, formOf, settingsOf } from '../endpoint-form.tsx';
import { Secret } from '../parts/secret.tsx';
import { Nothing, NotYours, Waiting } from '../parts/standing.tsx';
import { useSession } from '../session.tsx';
import { Back, PageHead } from '../shell.tsx';
import { FormEnd } from '../parts/form-end.tsx';

const Verify = lazy(() => import('../verify.tsx'));

export default function NewEndpointPage() {
  const t = useTranslations('endpoint');
  const leads = useTranslations('leads');
  const { workspace, may } = useSession();
  const [form, setForm] = useState(formOf(null));
  const [, go] = useLocation();
  const queries = useQueryClient();
  const create = useMutation({
    mutationFn: (workspaceId: string) =>
      dataOf(
        api.POST('/api/workspaces/{workspaceId}/endpoints', {
          params: { path: { workspaceId } },
          body: { kind: form.kind, ...settingsOf(form) },
        }),
      ),
    onSuccess: async ({ id, secret }) => {
      await queries.invalidateQueries({ queryKey: ['endpoints'] });
      if (secret === null) go(`/deliveries/${id}`);
    },
  });
  const head = <Back to="/deliveries" label={t('back')} />;
  if (workspace === null) return <Nothing icon="deliveries" title={leads('noWorkspace')} />;
  if (!may('administrator', workspace.id)) return <NotYours />;
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
      <form
        className="page-body narrow"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate(workspace.id);
        }}
      >
        <EndpointFields
          workspaceId={workspace.id}
          form={form}
          change={(changes) => setForm({ ...form, ...changes })}
          fault={faultsOf(create.error)}
          known={null}
        />
        <FormEnd act={create} label={t('create')}>
          <Button component={Link} href="/deliveries" variant="default">
            {t('cancel')}
          </Button>
        </FormEnd>
      </form>
    </>
  );
}
