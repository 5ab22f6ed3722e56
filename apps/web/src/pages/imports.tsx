import { Button, SegmentedControl, Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { Link } from 'wouter';
import type { Answer } from '../api.ts';
import { useGet } from '../queries.ts';
import { useImportCounts } from '../importing.ts';
import { linkName, useLinks } from '../lead-filters.tsx';
import { useCode } from '../parts/code.ts';
import { Icon } from '../parts/icon.tsx';
import { type Run, RunProgress, RunState } from '../parts/run.tsx';
import { Nothing, PageFailure } from '../parts/standing.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { AddButton } from '../parts/styled.tsx';
import { useSession, type Workspace } from '../session.tsx';
import { ofWorkspace, PageHead } from '../shell.tsx';

export default ofWorkspace(ImportsPage);

function ImportsPage({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('imports');
  const { may } = useSession();
  return (
    <>
      <PageHead title={t('title')}>
        {may('operator', workspace.id) && (
          <>
            <Button
              component={Link}
              href="/imports/replay"
              variant="default"
              leftSection={<Icon name="again" size={14} />}
            >
              {t('replay')}
            </Button>
            <Button component={Link} href="/imports/read-again" variant="default">
              {t('readAgain')}
            </Button>
            <AddButton component={Link} href="/imports/new">
              {t('import')}
            </AddButton>
          </>
        )}
      </PageHead>
      <Runs workspace={workspace} />
    </>
  );
}

const KINDS = ['import', 'replay', 'read-again', 'resend'] as const satisfies readonly NonNullable<
  Answer<'/api/runs', 'get'>[number]['kind']
>[];
type Kind = (typeof KINDS)[number];

const SOON_MS = 2_000;
const LATER_MS = 15_000;

/** What takes long, newest first: what goes on above, with what stops it. */
function Runs({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('imports');
  const [kind, setKind] = useState<Kind | null>(null);
  const describe = useRunText(workspace);
  const { data, error, isPending, refetch } = useGet('/api/runs', {
    query: { workspaceId: workspace.id, limit: 100, ...(kind && { kind }) },
    refetchInterval: ({ state }) =>
      state.data?.some((run) => run.state === 'running') ? SOON_MS : LATER_MS,
  });
  if (error !== null) return <PageFailure error={error} again={() => void refetch()} />;
  const runs = data ?? [];
  const open = runs.filter(({ state }) => state === 'running' || state === 'interrupted');
  return (
    <>
      <div className="bar">
        <SegmentedControl
          aria-label={t('which')}
          data={[
            { value: '', label: t('all') },
            ...KINDS.map((value) => ({ value, label: t(`kinds.${value}`) })),
          ]}
          value={kind ?? ''}
          onChange={(value) => setKind(KINDS.find((one) => one === value) ?? null)}
        />
      </div>
      {open.length > 0 && (
        <Stack className="page-body" gap={10} pb={16}>
          {open.map((run) => (
            <RunProgress
              key={run.id}
              runId={run.id}
              describe={(one) => `${describe.what(one)}: ${describe.counts(one)}`}
            />
          ))}
        </Stack>
      )}
      {!isPending && runs.length === 0 ? (
        <Nothing icon="imports" title={t('none')}>
          {t('noneHint')}
        </Nothing>
      ) : (
        <Table
          columns={[t('what'), { text: t('state'), keep: true }, t('came'), t('by'), t('begun')]}
          waits={isPending}
        >
          {runs.map((run) => (
            <tr key={run.id}>
              <td className="wraps">
                {describe.what(run)}
                <span className="under wraps">
                  <Came run={run} describe={describe} /> · <Time at={run.begunAt} near />
                </span>
              </td>
              <td data-keep>
                <RunState run={run} />
              </td>
              <td className="wraps">
                <Came run={run} describe={describe} />
              </td>
              <td>{run.begunBy.name}</td>
              <td>
                <Time at={run.begunAt} near />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}

interface RunText {
  what: (run: Run) => string;
  counts: (run: Run) => string;
}

/** What a run is and how far it is, in words. */
function useRunText(workspace: Workspace): RunText {
  const t = useTranslations('imports');
  const links = useLinks(workspace.id);
  const importCounts = useImportCounts();
  const kindText = useCode(({ imports }) => imports.kind);
  const labelOf = (id: unknown): string => {
    const link = links.data?.find((one) => one.id === id);
    return link === undefined ? '' : linkName(link);
  };
  return {
    what({ kind, parameters }) {
      const isTry = kind === 'import' && parameters['dryRun'] === true;
      const name = isTry ? t('kind.try') : kindText(kind);
      return [name, labelOf(parameters['linkId'])].filter(Boolean).join(' · ');
    },
    counts(run) {
      if (run.kind === 'import') return importCounts(run);
      const count = run.progress['enqueued'] ?? run.progress['resent'] ?? run.progress['read'] ?? 0;
      return t('counted', { count });
    },
  };
}

/** What came of it, and the rows that were refused. */
function Came({ run, describe }: { run: Run; describe: RunText }) {
  const t = useTranslations('imports');
  const { may } = useSession();
  return (
    <>
      {describe.counts(run)}
      {run.file !== null && may('operator', run.workspaceId) && (
        <>
          {' '}
          <a href={`/api/imports/${run.id}/refused`} download>
            {t('refusedRows')}
          </a>
        </>
      )}
    </>
  );
}
