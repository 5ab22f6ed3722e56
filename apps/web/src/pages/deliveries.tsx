import { Badge, Button } from '@mantine/core';
import { useFormatter, useTranslations } from 'use-intl';
import { Link } from 'wouter';
import type { Answer } from '../api.ts';
import { useGet } from '../queries.ts';
import type { Endpoint } from '../endpoint-form.tsx';
import { useListKeys } from '../list-keys.ts';
import { isGood } from '../parts/answer.tsx';
import { Nothing, NotYours, PageFailure } from '../parts/standing.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { AddButton } from '../parts/styled.tsx';
import { useSession, type Workspace } from '../session.tsx';
import { ofWorkspace, PageHead } from '../shell.tsx';

export type Try = Answer<'/api/endpoints/{endpointId}/tries', 'get'>[number];

export default ofWorkspace(DeliveriesPage);

function DeliveriesPage({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('deliveries');
  const { may } = useSession();
  return (
    <>
      <PageHead title={t('title')}>
        {may('administrator', workspace.id) && (
          <AddButton component={Link} href="/deliveries/new">
            {t('new')}
          </AddButton>
        )}
      </PageHead>
      {may('operator', workspace.id) ? <List workspace={workspace} /> : <NotYours />}
    </>
  );
}

const LOOK_EVERY_MS = 10_000;

function List({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('deliveries');
  const { may } = useSession();
  const endpoints = useGet('/api/endpoints', {
    query: { workspaceId: workspace.id },
    refetchInterval: LOOK_EVERY_MS,
  });
  const rows = endpoints.data ?? [];
  const at = useListKeys(rows.length);
  if (endpoints.error !== null)
    return <PageFailure error={endpoints.error} again={() => void endpoints.refetch()} />;
  if (!endpoints.isPending && rows.length === 0)
    return (
      <Nothing icon="deliveries" title={t('none')}>
        <p>{t('noneHint')}</p>
        {may('administrator', workspace.id) && (
          <Button component={Link} href="/deliveries/new">
            {t('new')}
          </Button>
        )}
      </Nothing>
    );
  return (
    <Table
      columns={[
        t('endpoint'),
        { text: t('health'), keep: true },
        t('answers'),
        { text: t('waiting'), number: true },
        t('rate'),
        t('delivered'),
      ]}
      waits={endpoints.isPending}
    >
      {rows.map((endpoint, index) => (
        <Row key={endpoint.id} endpoint={endpoint} isAt={index === at} />
      ))}
    </Table>
  );
}

/** What of an endpoint waits, as it is now. */
export const useBacklog = (endpointId: string) =>
  useGet('/api/endpoints/{endpointId}/stats', {
    path: { endpointId },
    refetchInterval: LOOK_EVERY_MS,
  });

const LAST_ANSWERS = 24;

function Row({ endpoint, isAt }: { endpoint: Endpoint; isAt: boolean }) {
  const t = useTranslations('deliveries');
  const format = useFormatter();
  const backlog = useBacklog(endpoint.id);
  const tries = useGet('/api/endpoints/{endpointId}/tries', {
    path: { endpointId: endpoint.id },
    query: { limit: LAST_ANSWERS },
    refetchInterval: LOOK_EVERY_MS,
  });
  return (
    <tr data-at={isAt ? '' : undefined}>
      <td>
        <Link href={`/deliveries/${endpoint.id}`} className="row">
          {endpoint.name}
        </Link>
        <span className="second">{endpoint.url}</span>
      </td>
      <td data-keep>
        <Health endpoint={endpoint} />
      </td>
      <td>
        <Answers tries={tries.data ?? []} />
      </td>
      <td className="number">
        {backlog.data === undefined ? '' : format.number(backlog.data.waiting)}
      </td>
      <td>{useRate(endpoint)}</td>
      <td>
        {endpoint.deliveredAt === null ? (
          <span className="soft">{t('never')}</span>
        ) : (
          <Time at={endpoint.deliveredAt} near />
        )}
      </td>
    </tr>
  );
}

/** Sends a second at most, in words. */
export function useRate({ perSecond }: Pick<Endpoint, 'perSecond'>): string {
  const t = useTranslations('deliveries');
  return perSecond === null ? t('noLimit') : t('aSecond', { rate: perSecond });
}

/** How an endpoint is, in its colour. */
export function Health({ endpoint }: { endpoint: Endpoint }) {
  const t = useTranslations('deliveries');
  if (endpoint.state === 'paused') return <Badge color="gray">{t('state.paused')}</Badge>;
  if (endpoint.state === 'disabled') return <Badge color="red">{t('state.disabled')}</Badge>;
  if (endpoint.failingSince !== null) return <Badge color="yellow">{t('state.failing')}</Badge>;
  if (endpoint.deliveredAt === null) return <Badge color="gray">{t('state.fresh')}</Badge>;
  return <Badge color="pine">{t('state.well')}</Badge>;
}

/** The last answers, the newest at the right: a bar each. */
function Answers({ tries }: { tries: readonly Try[] }) {
  const t = useTranslations('deliveries');
  if (tries.length === 0) return <span className="soft">–</span>;
  const good = tries.filter(isGood).length;
  const label = t('taken', { good, all: tries.length });
  return (
    <span className="answers" role="img" aria-label={label} title={label}>
      {tries.toReversed().map((one) => (
        <i key={one.id} data-bad={isGood(one) ? undefined : ''} />
      ))}
    </span>
  );
}
