import { Alert, Group, NumberInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useMessages, useTranslations } from 'use-intl';
import { api, type Body, faultsOf } from '../api.ts';
import { linkChoices, useLinks } from '../lead-filters.tsx';
import { Changes, RunProgress, TryThenRun } from '../parts/run.tsx';
import { Failure } from '../parts/standing.tsx';
import type { Workspace } from '../session.tsx';
import { Back, ofWorkspace, PageHead } from '../shell.tsx';

type Asked = Body<'/api/workspaces/{workspaceId}/replays', 'post'>;

export default ofWorkspace(ReplayPage, 'operator');

function ReplayPage({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('replay');
  return (
    <>
      <PageHead title={t('title')} before={<Back to="/imports" label={t('back')} />} />
      <div className="page-body narrow">
        <Replay workspace={workspace} />
      </div>
    </>
  );
}

const OUTCOMES = ['created', 'updated'] as const;

/** Which stored posts are applied again: what that would change is shown first. */
function Replay({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('replay');
  const links = useLinks(workspace.id);
  const [asked, setAsked] = useState<Asked>({});
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const [runId, setRunId] = useState<string | null>(null);
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
  const replay = useMutation({
    mutationFn: (dryRun: boolean) =>
      api.post('/api/workspaces/{workspaceId}/replays', {
        path: { workspaceId: workspace.id },
        body: { ...body, dryRun },
      }),
    onSuccess: (answer) => {
      if ('id' in answer) setRunId(answer.id);
    },
  });
  const preview = replay.data !== undefined && 'submissions' in replay.data ? replay.data : null;
  const fault = faultsOf(replay.error);
  const edited = () => replay.reset();
  return (
    <Stack gap="md">
      <Text size="sm" c="var(--soft)">
        {t('hint')}
      </Text>
      <Select
        label={t('link')}
        placeholder={t('every')}
        clearable
        searchable
        data={linkChoices(links.data)}
        value={asked.linkId ?? null}
        onChange={(linkId) => {
          edited();
          set({ linkId });
        }}
      />
      <Group gap="sm">
        <TextInput
          flex="1 1 200px"
          type="datetime-local"
          label={t('from')}
          value={from}
          error={fault('/since')}
          onChange={({ currentTarget: { value } }) => {
            edited();
            setFrom(value);
          }}
        />
        <TextInput
          flex="1 1 200px"
          type="datetime-local"
          label={t('to')}
          value={to}
          error={fault('/until')}
          onChange={({ currentTarget: { value } }) => {
            edited();
            setTo(value);
          }}
        />
      </Group>
      <Group grow gap="sm" align="flex-start">
        <Select
          label={t('outcome')}
          placeholder={t('every')}
          clearable
          data={OUTCOMES.map((value) => ({ value, label: t(`outcomes.${value}`) }))}
          value={asked.outcome ?? null}
          onChange={(value) => {
            edited();
            set({ outcome: OUTCOMES.find((one) => one === value) });
          }}
        />
        <Select
          label={t('note')}
          placeholder={t('every')}
          clearable
          searchable
          data={Object.entries(useMessages().note).map(([value, label]) => ({ value, label }))}
          value={asked.note ?? null}
          onChange={(note) => {
            edited();
            set({ note: note as Asked['note'] });
          }}
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
      {replay.error !== null && <Failure error={replay.error} />}
      {preview !== null && (
        <Alert
          color="pine"
          variant="light"
          role="status"
          title={t('would', { count: preview.submissions })}
        >
          <Text size="sm">{t('changes', { count: preview.leads })}</Text>
          <Changes changes={preview.changes} />
        </Alert>
      )}
      {runId !== null ? (
        <RunProgress
          runId={runId}
          describe={({ progress }) => t('enqueued', { count: progress['enqueued'] ?? 0 })}
        />
      ) : (
        <TryThenRun
          act={replay}
          tried={preview !== null}
          changes={(preview?.submissions ?? 0) > 0}
          preview={t('preview')}
          start={t('start')}
        />
      )}
    </Stack>
  );
}
