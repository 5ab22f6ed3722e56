import { Alert, Button, Group, Stack, Title } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslations } from 'use-intl';
import { Link } from 'wouter';
import {
  type ImportLine,
  type ImportQuery,
  newId,
  type Preview,
  sendFile,
  useImportCounts,
} from './importing.ts';
import { Icon } from './parts/icon.tsx';
import { type Run, RunProgress, useHasBegun, useRun } from './parts/run.tsx';
import { Failure } from './parts/standing.tsx';
import { Hint } from './parts/styled.tsx';
import { useAskAgain } from './queries.ts';

type Refused = NonNullable<ImportLine['refused']>;
type Column = Preview['columns'][number];

/** The columns that a fault is about; none: it is about the row. */
function isAt(pointer: string, { name, target }: Column): boolean {
  const path = pointer.slice(1).replaceAll('/', '.');
  return pointer !== '' && (path === target || pointer === `/${name}`);
}

/** Rows of a file, with what is wrong at its cell and in words. */
export function RowTable({
  columns,
  rows,
  head,
}: {
  columns: readonly Column[];
  rows: readonly { number: number; cells: readonly string[]; errors: Refused['errors'] }[];
  head?: (column: Column) => ReactNode;
}) {
  const t = useTranslations('import');
  const anyFault = rows.some(({ errors }) => errors.length > 0);
  return (
    // Wider than a page: whoever has no mouse scrolls it with the keys.
    <div className="wide card" tabIndex={0} role="region" aria-label={t('rows')}>
      <table className="list rows">
        <thead>
          <tr>
            <th scope="col">{t('row')}</th>
            {anyFault && <th scope="col">{t('problem')}</th>}
            {columns.map((column) => (
              <th key={column.name} scope="col" data-ignored={column.target === '-' || undefined}>
                <span className="column-name">{column.name}</span>
                {head?.(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ number, cells, errors }) => (
            <tr key={number}>
              <td className="soft">{number}</td>
              {anyFault && (
                <td className="fault">{errors.map(({ detail }) => detail).join(' ')}</td>
              )}
              {columns.map((column, at) => (
                <td
                  key={column.name}
                  data-ignored={column.target === '-' || undefined}
                  data-bad={errors.some(({ pointer }) => isAt(pointer, column)) || undefined}
                >
                  {cells[at]}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const MOST_SHOWN = 200;

const partOf = ({ progress, parameters }: Run): number | null => {
  const total = parameters['totalBytes'];
  return typeof total === 'number' && total > 0 ? (progress['bytes'] ?? 0) / total : null;
};

/** The state of a file that is sent. */
export interface Sent {
  runId: string | null;
  refused: readonly Refused[];
  /** Null: it is on its way. */
  end: { result: ImportLine['result'] } | { error: unknown } | null;
}

/** Sends a file, as a try or to be taken, and keeps what is told of it. */
export function useSending(): { sent: Sent; send: (file: File, query: ImportQuery) => void } {
  const askAgain = useAskAgain();
  const [sent, setSent] = useState<Sent>({ runId: null, refused: [], end: null });
  const goes = sent.runId !== null && sent.end === null;
  // What is not sent cannot be taken.
  useEffect(() => {
    if (!goes) return undefined;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [goes]);

  const run = async (file: File, query: ImportQuery) => {
    const importId = newId();
    const refused: Refused[] = [];
    const tell = (end: Sent['end']) => setSent({ runId: importId, refused: [...refused], end });
    tell(null);
    try {
      let result: ImportLine['result'];
      for await (const line of sendFile(file, { ...query, importId })) {
        if (line.refused !== undefined && refused.length < MOST_SHOWN) {
          refused.push(line.refused);
          tell(null);
        }
        if (line.error !== undefined) throw new Error(line.error);
        result = line.result ?? result;
      }
      tell({ result });
    } catch (error) {
      tell({ error });
    }
    await askAgain('/api/runs');
  };
  return { sent, send: (file, query) => void run(file, query) };
}

/** How a file that is tried or imported stands, and what came of it. */
export function Sending({
  sent: { runId, refused, end },
  dryRun,
  workspaceId,
  linkId,
  columns,
  again,
  back,
  next,
}: {
  sent: Sent;
  dryRun: boolean;
  workspaceId: string;
  linkId: string;
  columns: readonly Column[];
  again: () => void;
  back: () => void;
  next: () => void;
}) {
  const t = useTranslations('import');
  const countsOf = useImportCounts();
  const begun = useHasBegun(workspaceId, end === null ? runId : null);
  const there = begun || (end !== null && 'result' in end);
  const { data: run } = useRun(there && end !== null ? runId : null);
  const result = end !== null && 'result' in end ? end.result : undefined;
  const counts = run?.progress ?? {};
  const stopped = result?.stopped === true || (end !== null && run?.state === 'stopped');
  return (
    <Stack gap="md">
      {runId !== null && there && <RunProgress runId={runId} describe={countsOf} partOf={partOf} />}
      {end !== null && 'error' in end && <Failure error={end.error} />}
      {stopped && (
        <Alert color="yellow" variant="light">
          {t('stopped')}
        </Alert>
      )}
      {result !== undefined && !dryRun && !stopped && (
        <Alert color="pine" variant="light" title={t('done')} role="status">
          <Group gap="xs" mt={4}>
            <Button component={Link} href={`/leads?link=${linkId}`} variant="default">
              {t('seeLeads')}
            </Button>
          </Group>
        </Alert>
      )}
      {refused.length > 0 && (
        <section>
          <Group justify="space-between" mb="xs">
            <Title order={2}>
              {t('refusedRows', { count: counts['refused'] ?? refused.length })}
            </Title>
            {end !== null && (
              <Button
                component="a"
                href={`/api/imports/${runId}/refused`}
                download
                variant="default"
                leftSection={<Icon name="download" size={14} />}
              >
                {t('download')}
              </Button>
            )}
          </Group>
          <Hint mb="xs">{t('refusedHint')}</Hint>
          {result !== undefined && (
            <ul className="reasons">
              {result.reasons.slice(0, 8).map(({ pointer, code, rows }) => (
                <li key={`${pointer} ${code}`}>
                  <b>{rows}</b> <code>{pointer}</code> {code}
                </li>
              ))}
            </ul>
          )}
          <RowTable
            columns={columns}
            rows={refused.map(({ row, ...rest }) => ({ number: row, ...rest }))}
          />
        </section>
      )}
      {end !== null && (
        <Group justify="flex-end">
          {dryRun && (
            <Button variant="default" onClick={back}>
              {t('changeColumns')}
            </Button>
          )}
          {(stopped || 'error' in end) && (
            <Button variant={dryRun ? 'default' : 'filled'} onClick={again}>
              {t('goOn')}
            </Button>
          )}
          {dryRun && (
            <Button onClick={next} disabled={(counts['imported'] ?? 0) === 0}>
              {t('start', { count: counts['imported'] ?? 0 })}
            </Button>
          )}
        </Group>
      )}
    </Stack>
  );
}
