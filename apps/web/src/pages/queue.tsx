import { Button, Group, Skeleton } from '@mantine/core';
import { useFormatter, useTranslations } from 'use-intl';
import { type Answer, api } from '../api.ts';
import { useChange, useGet } from '../queries.ts';
import { useQueue } from '../overview-figures.ts';
import { Bars } from '../parts/bars.tsx';
import { Card } from '../parts/card.tsx';
import { useDuration } from '../parts/duration.ts';
import { Figure } from '../parts/figure.tsx';
import { Failure, Nothing, PageFailure } from '../parts/standing.tsx';
import { Table } from '../parts/table.tsx';
import { emptyIn, type Flow, flowOf, useSamples } from '../queue-flow.ts';
import { useSession } from '../session.tsx';
import { PageHead } from '../shell.tsx';

type Queue = Answer<'/api/queue', 'get'>;

const LOOK_EVERY_MS = 2_000;

export default function QueuePage() {
  const t = useTranslations('queue');
  const { may } = useSession();
  return (
    <>
      <PageHead title={t('title')}>
        {may('operator') && <Pause />}
        <Button component="a" href="/queues" variant="default">
          {t('jobs')}
        </Button>
      </PageHead>
      {may('viewer') ? (
        <Standing />
      ) : (
        <Nothing icon="queue" title={t('notYours')}>
          {t('notYoursHint')}
        </Nothing>
      )}
    </>
  );
}

/** Has all workers stop taking jobs, or take them again: a button each way is its own undo. */
function Pause() {
  const t = useTranslations('queue');
  const { data } = useQueue(true, LOOK_EVERY_MS);
  const act = useChange(['/api/queue'], (what: 'pause' | 'resume') =>
    api.post(`/api/queue/${what}`),
  );
  if (data === undefined) return null;
  return (
    <>
      <Button
        variant={data.paused ? 'filled' : 'default'}
        loading={act.isPending}
        onClick={() => act.mutate(data.paused ? 'resume' : 'pause')}
      >
        {t(data.paused ? 'resume' : 'pause')}
      </Button>
      <Failure act error={act.error} />
    </>
  );
}

function Standing() {
  const t = useTranslations('queue');
  const { data, error, refetch } = useQueue(true, LOOK_EVERY_MS);
  const samples = useSamples(data?.waiting);
  const flow = useGet('/api/queue/flow', { query: { minutes: 60 }, refetchInterval: 15_000 });
  if (error !== null) return <PageFailure error={error} again={() => void refetch()} />;
  return (
    <div className="page-body overview">
      {data?.paused === true && (
        <p className="note" role="status">
          {t('paused')}
        </p>
      )}
      {data === undefined ? (
        <Skeleton height={84} />
      ) : (
        <Figures queue={data} empty={emptyIn(samples)} />
      )}
      {data === undefined || flow.data === undefined ? (
        <Skeleton height={240} />
      ) : (
        <Charts flow={flowOf(flow.data, data.waiting, flow.dataUpdatedAt)} />
      )}
      {data !== undefined && data.shards.length > 1 && <Shards queue={data} />}
    </div>
  );
}

function Figures({ queue, empty }: { queue: Queue; empty: ReturnType<typeof emptyIn> }) {
  const t = useTranslations('queue');
  const format = useFormatter();
  const duration = useDuration();
  const figures = [
    { name: t('waiting'), value: format.number(queue.waiting) },
    {
      name: t('oldest'),
      value: queue.oldestWaitingMs === null ? t('none') : duration(queue.oldestWaitingMs),
      tone: (queue.oldestWaitingMs ?? 0) > 300_000 ? ('bad' as const) : undefined,
    },
    {
      name: t('empty'),
      value:
        queue.waiting === 0
          ? t('emptyNow')
          : empty.kind === 'in'
            ? duration(empty.ms)
            : t(`emptyIn.${empty.kind}`),
      tone: empty.kind === 'never' && queue.waiting > 0 ? ('warn' as const) : undefined,
    },
    { name: t('active'), value: format.number(queue.active) },
    { name: t('delayed'), value: format.number(queue.delayed) },
    {
      name: t('failed'),
      value: format.number(queue.failed),
      tone: queue.failed > 0 ? ('bad' as const) : undefined,
    },
  ];
  return (
    <dl className="numbers">
      {figures.map((figure) => (
        <Figure key={figure.name} {...figure} />
      ))}
    </dl>
  );
}

function Charts({ flow }: { flow: readonly Flow[] }) {
  const t = useTranslations('queue');
  const format = useFormatter();
  const at = (moment: string) =>
    format.dateTime(new Date(moment), { hour: '2-digit', minute: '2-digit' });
  return (
    <>
      <Card title={t('overTime')}>
        <Bars
          bars={flow.map((one) => ({ at: one.at, label: at(one.at), value: one.waiting }))}
          title={t('overTime')}
          names={[t('waiting')]}
          every={15}
          height={140}
        />
      </Card>
      <Card
        title={t('rates')}
        aside={
          <Group gap="md" className="soft legend">
            <span data-of="now">{t('out')}</span>
            <span data-of="before">{t('in')}</span>
          </Group>
        }
      >
        <Bars
          bars={flow.map((one) => ({
            ...{ at: one.at, label: at(one.at) },
            ...{ value: one.finished, before: one.accepted },
          }))}
          title={t('rates')}
          names={[t('out'), t('in')]}
          every={15}
          height={140}
        />
      </Card>
    </>
  );
}

function Shards({ queue }: { queue: Queue }) {
  const t = useTranslations('queue');
  const format = useFormatter();
  return (
    <Table
      inset
      columns={[
        t('shard'),
        { text: t('waiting'), number: true, keep: true },
        { text: t('active'), number: true },
        { text: t('failed'), number: true, keep: true },
      ]}
    >
      {queue.shards.map(({ shard, waiting, active, failed, inUse }) => (
        <tr key={shard}>
          <td>
            {shard} {!inUse && <span className="soft">{t('leftOver')}</span>}
          </td>
          <td className="number" data-keep>
            {format.number(waiting)}
          </td>
          <td className="number">{format.number(active)}</td>
          <td className="number" data-keep>
            {format.number(failed)}
          </td>
        </tr>
      ))}
    </Table>
  );
}
