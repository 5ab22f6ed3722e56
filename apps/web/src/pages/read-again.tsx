import { Select, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { useSearchParams } from 'wouter';
import { api } from '../api.ts';
import { linkChoices, useLinks } from '../lead-filters.tsx';
import { Changes, TryThenRun, useTried } from '../parts/run.tsx';
import { typed } from '../parts/typed.ts';
import { Hint } from '../parts/styled.tsx';
import type { Workspace } from '../session.tsx';
import { Back, ofWorkspace, PageHead } from '../shell.tsx';

export default ofWorkspace(ReadAgainPage, 'operator');

/** Stored posts of a link, under its present mapping: what that would change is shown first. */
function ReadAgainPage({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('readAgain');
  const [params] = useSearchParams();
  const links = useLinks(workspace.id);
  const [linkId, setLinkId] = useState(params.get('link'));
  const [from, setFrom] = useState('');
  const tried = useTried((dryRun) =>
    api.post('/api/links/{linkId}/read-again', {
      path: { linkId: linkId ?? '' },
      body: { dryRun, ...(from !== '' && { since: new Date(from).toISOString() }) },
    }),
  );
  const { preview, edited } = tried;
  return (
    <>
      <PageHead title={t('title')} before={<Back to="/imports" label={t('back')} />} />
      <Stack gap="md" className="page-body narrow">
        <Hint>{t('hint')}</Hint>
        <Select
          label={t('link')}
          searchable
          allowDeselect={false}
          data={linkChoices(links.data)}
          value={linkId}
          onChange={edited(setLinkId)}
        />
        <TextInput type="datetime-local" label={t('from')} {...typed(from, edited(setFrom))} />
        <TryThenRun
          tried={tried}
          would={preview && t('would', preview.counts)}
          changes={(preview?.counts.changed ?? 0) > 0}
          disabled={linkId === null}
          labels={{ preview: t('preview'), start: t('start') }}
          describe={({ progress: { changed = 0, read = 0 } }) => t('done', { changed, read })}
        >
          <Changes changes={preview?.changes ?? []} />
        </TryThenRun>
      </Stack>
    </>
  );
}
