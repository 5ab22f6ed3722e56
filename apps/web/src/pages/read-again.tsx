import { Alert, Button, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { Link, useSearchParams } from 'wouter';
import { api, dataOf } from '../api.ts';
import { useLinks } from '../lead-filters.tsx';
import { RunProgress } from '../parts/run.tsx';
import { Failure, Nothing, NotYours } from '../parts/standing.tsx';
import { useSession, type Workspace } from '../session.tsx';
import { Back, PageHead } from '../shell.tsx';

export default function ReadAgainPage() {
  const t = useTranslations('readAgain');
  const leads = useTranslations('leads');
  const { workspace, may } = useSession();
  if (workspace === null) return <Nothing icon="again" title={leads('noWorkspace')} />;
  if (!may('operator', workspace.id)) return <NotYours />;
  return (
    <>
      <PageHead title={t('title')} before={<Back to="/imports" label={t('back')} />} />
      <div className="page-body narrow">
        <ReadAgain key={workspace.id} workspace={workspace} />
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
      dataOf(
        api.POST('/api/links/{linkId}/read-again', {
          params: { path: { linkId: linkId ?? '' } },
          body: { dryRun, ...(from !== '' && { since: new Date(from).toISOString() }) },
        }),
      ),
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
        data={(links.data ?? []).map(({ id, label }) => ({
          value: id,
          label: label || id.slice(0, 8),
        }))}
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
          <ul className="reasons">
            {preview.changes
              .slice(0, 10)
              .map(({ submissionId, leadId, filled, changed, emptied }) => (
                <li key={submissionId}>
                  <Link href={`/leads/${leadId}`}>{leadId.slice(0, 8)}</Link>{' '}
                  {[...filled, ...changed, ...emptied].join(', ')}
                </li>
              ))}
          </ul>
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
        <Group justify="flex-end">
          <Button
            variant={preview === null ? 'filled' : 'default'}
            disabled={linkId === null}
            loading={read.isPending && read.variables}
            onClick={() => read.mutate(true)}
          >
            {t('preview')}
          </Button>
          <Button
            disabled={preview === null || preview.counts.changed === 0}
            loading={read.isPending && !read.variables}
            onClick={() => read.mutate(false)}
          >
            {t('start')}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
