import { Button, Group } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { Link, useLocation } from 'wouter';
import { api, dataOf, faultsOf } from '../api.ts';
import { endOf, formOf, LinkFields, settingsOf } from '../link-form.tsx';
import { Failure, Nothing } from '../parts/standing.tsx';
import { useSession } from '../session.tsx';
import { Back, PageHead } from '../shell.tsx';

export default function NewLinkPage() {
  const t = useTranslations('link');
  const leads = useTranslations('leads');
  const { workspace } = useSession();
  const [form, setForm] = useState(formOf(null));
  const [, go] = useLocation();
  const queries = useQueryClient();
  const create = useMutation({
    mutationFn: (workspaceId: string) =>
      dataOf(
        api.POST('/api/workspaces/{workspaceId}/links', {
          params: { path: { workspaceId } },
          body: { ...settingsOf(form), expiresAt: endOf(form) },
        }),
      ),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: ['links'] });
      go(`/links/${id}?made`);
    },
  });
  if (workspace === null) return <Nothing icon="links" title={leads('noWorkspace')} />;
  return (
    <>
      <PageHead title={t('new')} before={<Back to="/links" label={t('back')} />} />
      <form
        className="page-body narrow"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate(workspace.id);
        }}
      >
        <LinkFields
          form={form}
          change={(changes) => setForm({ ...form, ...changes })}
          fault={faultsOf(create.error)}
          hasSecret={false}
        />
        {create.error !== null && <Failure error={create.error} />}
        <Group justify="flex-end" mt="md">
          <Button component={Link} href="/links" variant="default">
            {t('cancel')}
          </Button>
          <Button type="submit" loading={create.isPending}>
            {t('create')}
          </Button>
        </Group>
      </form>
    </>
  );
}
