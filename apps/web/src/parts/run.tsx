import { Alert, Badge, Button, Group, Progress, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useTranslations } from 'use-intl';
import { Link } from 'wouter';
import { type Answer, api } from '../api.ts';
import { useChange, useGet } from '../queries.ts';
import { useSession } from '../session.tsx';
import { useCode } from './code.ts';
import { Failure } from './standing.tsx';

export type Run = Answer<'/api/runs/{runId}', 'get'>;

const LOOK_EVERY_MS = 1_000;

/** A run as it goes on, in whatever process it does. */
export const useRun = (runId: string | null) =>
  useGet('/api/runs/{runId}', {
    path: { runId: runId ?? '' },
    enabled: runId !== null,
    refetchInterval: ({ state: { data } }) =>
      data === undefined || data.state === 'running' ? LOOK_EVERY_MS : false,
  });

/** Whether an import has begun whose file is on its way: until then there is no such run. */
export function useHasBegun(workspaceId: string, runId: string | null): boolean {
  const { data } = useQuery({
    queryKey: ['begun', runId],
    enabled: runId !== null,
    queryFn: async () => {
      const query = { workspaceId, kind: 'import', limit: 20 } as const;
      const runs = await api.get('/api/runs', { query });
      return runs.some(({ id }) => id === runId);
    },
    refetchInterval: ({ state }) => (state.data === true ? false : LOOK_EVERY_MS / 2),
  });
  return data === true;
}

const COLORS: Record<string, string> = { running: 'blue', done: 'pine', failed: 'red' };

/** How a run stands, in its colour. */
export function RunState({ run }: { run: Pick<Run, 'state' | 'stopping'> }) {
  const t = useTranslations('run');
  const stateText = useCode(({ run }) => run.state);
  return (
    <Badge color={COLORS[run.state] ?? 'yellow'}>
      {run.stopping && run.state === 'running' ? t('stopping') : stateText(run.state)}
    </Badge>
  );
}

/** How far a run is, and what stops it or has it go on. `part`: from 0 to 1, if the end is known. */
export function RunProgress({
  runId,
  describe,
  partOf = () => null,
}: {
  runId: string;
  describe: (run: Run) => ReactNode;
  partOf?: (run: Run) => number | null;
}) {
  const t = useTranslations('run');
  const { may } = useSession();
  const { data: run, error } = useRun(runId);
  const act = useChange(['/api/runs'], (what: 'stop' | 'resume') =>
    api.post(`/api/runs/{runId}/${what}`, { path: { runId } }),
  );
  if (error !== null) return <Failure error={error} />;
  if (run === undefined) return null;
  const part = run.state === 'done' ? 1 : partOf(run);
  const runs = run.state === 'running';
  // A file is sent again by the page that has it.
  const resumes = !runs && run.state !== 'done' && run.kind !== 'import';
  return (
    <section className="card lead-card" aria-live="polite">
      <Group justify="space-between" gap="xs">
        <Group gap="xs">
          <RunState run={run} />
          <Text size="sm" component="div">
            {describe(run)}
          </Text>
        </Group>
        {may('operator', run.workspaceId) && (runs || resumes) && (
          <Button
            variant="default"
            loading={act.isPending}
            disabled={run.stopping && runs}
            onClick={() => act.mutate(runs ? 'stop' : 'resume')}
          >
            {t(runs ? 'stop' : 'resume')}
          </Button>
        )}
      </Group>
      <Progress
        mt={8}
        size="sm"
        radius="xl"
        aria-label={t('progress')}
        value={(part ?? 1) * 100}
        animated={runs && part === null}
        color={COLORS[run.state] ?? 'yellow'}
      />
      {run.problem !== null && (
        <Alert color="red" variant="light" role="alert" mt="sm">
          {run.problem}
        </Alert>
      )}
      <Failure act error={act.error} />
    </section>
  );
}

/** What a tried run would change of leads: the first of them, with the fields. */
export function Changes({
  changes,
}: {
  changes: readonly { leadId: string; filled: string[]; changed: string[]; emptied: string[] }[];
}) {
  return (
    <ul className="reasons">
      {changes.slice(0, 10).map(({ leadId, filled, changed, emptied }, n) => (
        <li key={n}>
          <Link href={`/leads/${leadId}`}>{leadId.slice(0, 8)}</Link>{' '}
          {[...filled, ...changed, ...emptied].join(', ')}
        </li>
      ))}
    </ul>
  );
}

const isRun = (answer: object): answer is Run => 'id' in answer;

/** A run that is tried first: what the try said, and the run once it has begun. `edited`: what was tried is not asked. */
export function useTried<T extends object>(ask: (dryRun: boolean) => Promise<T | Run>) {
  const [runId, setRunId] = useState<string | null>(null);
  const act = useMutation({
    mutationFn: ask,
    onSuccess: (answer) => isRun(answer) && setRunId(answer.id),
  });
  const preview = act.data === undefined || isRun(act.data) ? null : act.data;
  const edited =
    <V,>(set: (value: V) => void) =>
    (value: V) => {
      act.reset();
      set(value);
    };
  return { act, runId, preview, edited };
}

/** The end of a form whose run is tried first: it can begin once a try said that it would change something. */
export function TryThenRun({
  tried: { act, runId },
  would,
  changes,
  disabled = false,
  labels,
  describe,
  children,
}: {
  tried: Pick<ReturnType<typeof useTried>, 'act' | 'runId'>;
  /** What the try said, in words; null: there was none. */
  would: string | null;
  /** Whether the try found something to change. */
  changes: boolean;
  disabled?: boolean;
  labels: { preview: string; start: string };
  describe: (run: Run) => ReactNode;
  children: ReactNode;
}) {
  return (
    <>
      <Failure act error={act.error} />
      {would !== null && (
        <Alert color="pine" variant="light" role="status" title={would}>
          {children}
        </Alert>
      )}
      {runId !== null ? (
        <RunProgress runId={runId} describe={describe} />
      ) : (
        <Group justify="flex-end">
          <Button
            variant={would === null ? 'filled' : 'default'}
            disabled={disabled}
            loading={act.isPending && act.variables}
            onClick={() => act.mutate(true)}
          >
            {labels.preview}
          </Button>
          <Button
            disabled={!changes}
            loading={act.isPending && !act.variables}
            onClick={() => act.mutate(false)}
          >
            {labels.start}
          </Button>
        </Group>
      )}
    </>
  );
}
