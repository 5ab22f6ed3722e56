import { Group, NumberInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useMessages, useTranslations } from 'use-intl';
import { api, type Body, faultsOf } from '../api.ts';
import { linkChoices, useLinks } from '../lead-filters.tsx';
import { Changes, TryThenRun, useTried } from '../parts/run.tsx';
import { typed } from '../parts/typed.ts';
import { Hint } from '../parts/styled.tsx';
import type { Workspace } from '../session.tsx';
import { Back, ofWorkspace, PageHead } from '../shell.tsx';

type Asked = Body<'/api/workspaces/{workspaceId}/replays', 'post'>;

export default ofWorkspace(ReplayPage, 'operator');

const OUTCOMES = ['created', 'updated'] as const;

/** Which stored posts are applied again: what that would change is shown first. */
function ReplayPage({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('replay');
  const links = useLinks(workspace.id);
  const [asked, setAsked] = useState<Asked>({});
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const set = (changes: { [N in keyof Asked]?: Asked[N] | null | undefined }) =>
    setAsked(
      Object.fromEntries(
        Object.entries({ ...asked, ...changes }).filter(([, value]) => value != null),
      ),
    );
  const body: Asked = {
    ...asked,
    ...(from !== '' && { since: new Date(from).toISOString() }),
    ...(to !== '' && { until: new Date(to).toISOString() }),
  };
  const tried = useTried((dryRun) =>
    api.post('/api/workspaces/{workspaceId}/replays', {
      path: { workspaceId: workspace.id },
      body: { ...body, dryRun },
    }),
  );
  const { preview, edited } = tried;
  const edit = edited(set);
  const fault = faultsOf(tried.act.error);
  return (
    <>
      <PageHead title={t('title')} before={<Back to="/imports" label={t('back')} />} />
      <Stack gap="md" className="page-body narrow">
        <Hint>{t('hint')}</Hint>
        <Select
          label={t('link')}
          placeholder={t('every')}
          clearable
          searchable
          data={linkChoices(links.data)}
          value={asked.linkId ?? null}
          onChange={(linkId) => edit({ linkId })}
        />
        <Group gap="sm">
          <TextInput
            flex="1 1 200px"
            type="datetime-local"
            label={t('from')}
            error={fault('/since')}
            {...typed(from, edited(setFrom))}
          />
          <TextInput
            flex="1 1 200px"
            type="datetime-local"
            label={t('to')}
            error={fault('/until')}
            {...typed(to, edited(setTo))}
          />
        </Group>
        <Group grow gap="sm" align="flex-start">
          <Select
            label={t('outcome')}
            placeholder={t('every')}
            clearable
            data={OUTCOMES.map((value) => ({ value, label: t(`outcomes.${value}`) }))}
            value={asked.outcome ?? null}
            onChange={(value) => edit({ outcome: OUTCOMES.find((one) => one === value) })}
          />
          <Select
            label={t('note')}
            placeholder={t('every')}
            clearable
            searchable
            data={Object.entries(useMessages().note).map(([value, label]) => ({ value, label }))}
            value={asked.note ?? null}
            onChange={(note) => edit({ note: note as Asked['note'] })}
          />
        </Group>
        <NumberInput
          label={t('perSecond')}
          description={t('perSecondHint')}
          min={1}
          value={asked.perSecond ?? ''}
          error={fault('/perSecond')}
          onChange={(value) => set({ perSecond: value === '' ? null : Number(value) })}
        />
        <TryThenRun
          tried={tried}
          would={preview && t('would', { count: preview.submissions })}
          changes={(preview?.submissions ?? 0) > 0}
          labels={{ preview: t('preview'), start: t('start') }}
          describe={({ progress }) => t('enqueued', { count: progress['enqueued'] ?? 0 })}
        >
          <Text size="sm">{t('changes', { count: preview?.leads ?? 0 })}</Text>
          <Changes changes={preview?.changes ?? []} />
        </TryThenRun>
      </Stack>
    </>
  );
}
