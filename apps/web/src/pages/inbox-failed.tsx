import { Button, Group, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { useSearchParams } from 'wouter';
import { api } from '../api.ts';
import { useChange, useGet } from '../queries.ts';
import { INBOX, useRefreshed } from '../inbox-data.ts';
import { useListKeys } from '../list-keys.ts';
import { FormModal } from '../parts/form-modal.tsx';
import { Failure, Nothing, Waiting, PageFailure } from '../parts/standing.tsx';
import { Time } from '../parts/time.tsx';
import { useSession } from '../session.tsx';
import { Back, PageHead } from '../shell.tsx';
import { typed } from '../parts/typed.ts';
import { CodeBlock, RowButton } from '../parts/styled.tsx';

const LISTED = 100;

/** Submissions that are out of attempts, of one reason or all. */
export default function FailedPage() {
  const t = useTranslations('inbox');
  const { may } = useSession();
  const [params] = useSearchParams();
  const reason = params.get('reason') ?? undefined;
  const query = reason === undefined ? {} : { reason };
  const refreshed = useRefreshed();
  const [opened, setOpened] = useState<string | null>(null);
  const [discarding, setDiscarding] = useState<string | null>(null);
  const list = useGet('/api/failed', { query: { ...query, limit: LISTED } });
  const retry = useMutation({
    mutationFn: (jobId: string) => api.post('/api/failed/{jobId}/retry', { path: { jobId } }),
    onSettled: refreshed,
  });
  const all = useMutation({
    mutationFn: (dryRun: boolean) => api.post('/api/failed/retry', { body: { ...query, dryRun } }),
    onSettled: refreshed,
  });
  const rows = list.data ?? [];
  const at = useListKeys(rows.length);
  const mayAct = may('operator');
  return (
    <>
      <PageHead
        title={reason ?? t('kind.failed')}
        before={<Back to="/inbox" label={t('back')} />}
        hint={t('failedHint')}
      >
        {mayAct && rows.length > 0 && (
          <Button variant="default" loading={all.isPending} onClick={() => all.mutate(true)}>
            {t('preview')}
          </Button>
        )}
      </PageHead>
      <PageFailure error={list.error} />
      <PageFailure act error={retry.error ?? all.error} />
      {all.data !== undefined && (
        <div className="bar" role="status">
          <Text size="sm">
            {t(all.variables ? 'wouldRetry' : 'retried', { count: all.data.retried })}
          </Text>
          {all.variables && all.data.retried > 0 && (
            <Button onClick={() => all.mutate(false)}>{t('retryAll')}</Button>
          )}
        </div>
      )}
      {list.isPending ? (
        <Waiting />
      ) : rows.length === 0 ? (
        list.error === null && <Nothing icon="done" title={t('noneFailed')} />
      ) : (
        <ul className="plain rows">
          {rows.map(({ jobId, failedAt, reason: why }, index) => (
            <li key={jobId} data-at={index === at ? '' : undefined}>
              <RowButton
                aria-expanded={opened === jobId}
                onClick={() => setOpened(opened === jobId ? null : jobId)}
              >
                {reason === undefined ? why : jobId}
              </RowButton>
              <Time at={failedAt} near soft />
              {mayAct && (
                <Group gap={6} wrap="nowrap">
                  <Button variant="default" onClick={() => retry.mutate(jobId)}>
                    {t('retry')}
                  </Button>
                  <Button variant="default" onClick={() => setDiscarding(jobId)}>
                    {t('verb.discard')}
                  </Button>
                </Group>
              )}
              {opened === jobId && <Details jobId={jobId} />}
            </li>
          ))}
        </ul>
      )}
      {discarding !== null && <Discard jobId={discarding} close={() => setDiscarding(null)} />}
    </>
  );
}

/** It is kept in Postgres with the reason, and no page takes it back. */
function Discard({ jobId, close }: { jobId: string; close: () => void }) {
  const t = useTranslations('inbox');
  const [reason, setReason] = useState('');
  const act = useChange(
    INBOX,
    () => api.post('/api/failed/{jobId}/discard', { path: { jobId }, body: { reason } }),
    close,
  );
  return (
    <FormModal
      close={close}
      title={t('discardFailed')}
      label={t('verb.discard')}
      act={act}
      danger
      disabled={reason.trim() === ''}
    >
      <TextInput
        label={t('reason')}
        description={t('reasonHint')}
        required
        {...typed(reason, setReason)}
      />
    </FormModal>
  );
}

function Details({ jobId }: { jobId: string }) {
  const { data, error } = useGet('/api/failed/{jobId}', { path: { jobId } });
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Waiting />;
  return <CodeBlock>{JSON.stringify(data, null, 2)}</CodeBlock>;
}
