import { Alert, Select, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { useSearchParams } from 'wouter';
import { api } from '../api.ts';
import { linkChoices, useLinks } from '../lead-filters.tsx';
import { Changes, RunProgress, TryThenRun } from '../parts/run.tsx';
import { Failure } from '../parts/standing.tsx';
import type { Workspace } from '../session.tsx';
import { Back, ofWorkspace, PageHead } from '../shell.tsx';

export default ofWorkspace(ReadAgainPage, 'operator');

function ReadAgainPage({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('readAgain');
  return (
    <>
      <PageHead title={t('title')} before={<Back to="/imports" label={t('back')} />} />
      <div className="page-body narrow">
        <ReadAgain workspace={workspace} />
      </div>
    </>
  );
}

/** Stored posts of a link, under its present mapping: what that would change is shown first. */
function ReadAgain({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('readAgain');
  const [params] = useSearchParams();
  const links = useLinks(workspace.id);
  const [linkId, setLinkId] = useState(params.get('link'));
  const [from, setFrom] = useState('');
  const [runId, setRunId] = useState<string | null>(null);
  const read = useMutation({
    mutationFn: (dryRun: boolean) =>
      api.post('/api/links/{linkId}/read-again', {
        path: { linkId: linkId ?? '' },
        body: { dryRun, ...(from !== '' && { since: new Date(from).toISOString() }) },
      }),
    onSuccess: (answer) => {
      if ('id' in answer) setRunId(answer.id);
    },
  });
  const preview = read.data !== undefined && 'counts' in read.data ? read.data : null;
  return (
    <Stack gap="md">
      <Text size="sm" c="var(--soft)">
        {t('hint')}
      </Text>
      <Select
        label={t('link')}
        searchable
        allowDeselect={false}
        data={linkChoices(links.data)}
        value={linkId}
        onChange={(value) => {
          read.reset();
          setLinkId(value);
        }}
      />
      <TextInput
        type="datetime-local"
        label={t('from')}
        value={from}
        onChange={({ currentTarget: { value } }) => {
          read.reset();
          setFrom(value);
        }}
      />
      {read.error !== null && <Failure error={read.error} />}
      {preview !== null && (
        <Alert
          color="pine"
          variant="light"
          role="status"
          title={t('would', { changed: preview.counts.changed, read: preview.counts.read })}
        >
          <Changes changes={preview.changes} />
        </Alert>
      )}
      {runId !== null ? (
        <RunProgress
          runId={runId}
          describe={({ progress }) =>
            t('done', { changed: progress['changed'] ?? 0, read: progress['read'] ?? 0 })
          }
        />
      ) : (
        <TryThenRun
          act={read}
          tried={preview !== null}
          changes={(preview?.counts.changed ?? 0) > 0}
          disabled={linkId === null}
          preview={t('preview')}
          start={t('start')}
        />
      )}
    </Stack>
  );
}
