import { Button, Select } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { Link, useLocation } from 'wouter';
import { api, dataOf, faultsOf } from '../api.ts';
import { endOf, formOf, LinkFields, settingsOf } from '../link-form.tsx';
import { Nothing } from '../parts/standing.tsx';
import { useSession } from '../session.tsx';
import { Back, PageHead } from '../shell.tsx';
import { FormEnd } from '../parts/form-end.tsx';

export default function NewLinkPage() {
  const t = useTranslations('link');
  const leads = useTranslations('leads');
  const { workspace } = useSession();
  const [form, setForm] = useState(formOf(null));
  const [preset, setPreset] = useState<string | null>(null);
  const presets = useQuery({
    queryKey: ['presets'],
    queryFn: () => dataOf(api.GET('/api/presets')),
    staleTime: Infinity,
  });
  const mapping = presets.data?.find((one) => one.preset === preset)?.mapping;
  const [, go] = useLocation();
  const queries = useQueryClient();
  const create = useMutation({
    mutationFn: (workspaceId: string) =>
      dataOf(
        api.POST('/api/workspaces/{workspaceId}/links', {
          params: { path: { workspaceId } },
          body: {
            ...settingsOf(form),
            ...(mapping !== undefined && { mapping }),
            expiresAt: endOf(form),
          },
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
        <Select
          label={t('sender')}
          description={t('senderHint')}
          placeholder={t('senderOwn')}
          clearable
          searchable
          mb="md"
          data={
            presets.data?.map((one) => ({ value: one.preset, label: senderOf(one.preset) })) ?? []
          }
          value={preset}
          onChange={setPreset}
        />
        <LinkFields
          form={form}
          change={(changes) => setForm({ ...form, ...changes })}
          fault={faultsOf(create.error)}
          hasSecret={false}
        />
        <FormEnd act={create} label={t('create')}>
          <Button component={Link} href="/links" variant="default">
            {t('cancel')}
          </Button>
        </FormEnd>
      </form>
    </>
  );
}

/** A sender as it is called, from the name of its preset: `contact-form-7`. */
const senderOf = (preset: string): string =>
  preset.replace(
    /(^|-)(\w)/g,
    (_, dash: string, letter: string) => (dash && ' ') + letter.toUpperCase(),
  );
