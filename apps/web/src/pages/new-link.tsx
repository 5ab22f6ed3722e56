import { Select } from '@mantine/core';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { useLocation } from 'wouter';
import { api } from '../api.ts';
import { useChange, useGet } from '../queries.ts';
import { endOf, formOf, LinkFields, settingsOf } from '../link-form.tsx';
import type { Workspace } from '../session.tsx';
import { Back, ofWorkspace, PageHead } from '../shell.tsx';
import { PageForm } from '../parts/page-form.tsx';

export default ofWorkspace(NewLinkPage);

function NewLinkPage({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('link');
  const [form, setForm] = useState(formOf(null));
  const [preset, setPreset] = useState<string | null>(null);
  const presets = useGet('/api/presets', { staleTime: Infinity });
  const mapping = presets.data?.find((one) => one.preset === preset)?.mapping;
  const [, go] = useLocation();
  const create = useChange(
    ['/api/links'],
    () =>
      api.post('/api/workspaces/{workspaceId}/links', {
        path: { workspaceId: workspace.id },
        body: {
          ...settingsOf(form),
          ...(mapping !== undefined && { mapping }),
          expiresAt: endOf(form),
        },
      }),
    ({ id }) => go(`/links/${id}`),
  );
  return (
    <>
      <PageHead title={t('new')} before={<Back to="/links" label={t('back')} />} />
      <div className="page-body">
        <PageForm act={create} label={t('create')} cancel="/links">
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
          <LinkFields form={form} set={setForm} error={create.error} hasSecret={false} />
        </PageForm>
      </div>
    </>
  );
}

/** A sender as it is called, from the name of its preset: `contact-form-7`. */
const senderOf = (preset: string): string =>
  preset.replace(
    /(^|-)(\w)/g,
    (_, dash: string, letter: string) => (dash && ' ') + letter.toUpperCase(),
  );
