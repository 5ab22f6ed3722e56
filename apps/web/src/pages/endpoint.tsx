import { Box, SegmentedControl, Title, UnstyledButton } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Fragment, lazy, Suspense, useState } from 'react';
import { useFormatter, useNow, useTranslations } from 'use-intl';
import { Link, useParams } from 'wouter';
import { api } from '../api.ts';
import { useGet } from '../queries.ts';
import { EndpointActions, useTook } from '../endpoint-actions.tsx';
import type { Endpoint } from '../endpoint-form.tsx';
import { EndpointSettings } from '../endpoint-settings.tsx';
import { AddressTabs } from '../parts/address-tabs.tsx';
import { AnswerBadge, useOutcomeText } from '../parts/answer.tsx';
import { Icon } from '../parts/icon.tsx';
import { Pages } from '../parts/pages.tsx';
import { RunProgress } from '../parts/run.tsx';
import { Failure, Nothing, NotYours, Waiting, PageFailure } from '../parts/standing.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { CodeBlock, Hint } from '../parts/styled.tsx';
import { useSession } from '../session.tsx';
import { Back, PageHead } from '../shell.tsx';
import { Health, type Try, useBacklog, useRate } from './deliveries.tsx';

export default function EndpointPage() {
  const { endpointId = '' } = useParams();
  const { data, error, refetch } = useGet('/api/endpoints/{endpointId}', {
    path: { endpointId },
    refetchInterval: 10_000,
  });
  const { may } = useSession();
  const failure = <PageFailure error={error} again={() => void refetch()} />;
  if (data === undefined) return error === null ? <Waiting /> : failure;
  if (!may('operator', data.workspaceId)) return <NotYours />;
  // What is typed there stays when one look of many fails.
  return (
    <>
      {failure}
      <EndpointView endpoint={data} />
    </>
  );
}

/** With the documentation's programs in it. */
const Verify = lazy(() => import('../verify.tsx'));

function EndpointView({ endpoint }: { endpoint: Endpoint }) {
  const t = useTranslations('endpoint');
  const verify = {
    name: 'verify',
    label: t('tab.verify'),
    panel: (
      <div className="narrow">
        <Suspense fallback={<Waiting />}>
          <Verify />
        </Suspense>
      </div>
    ),
  };
  return (
    <>
      <PageHead
        title={endpoint.name}
        before={<Back to="/deliveries" label={t('back')} />}
        hint={
          <>
            <Health endpoint={endpoint} /> {endpoint.url}
          </>
        }
      >
        <EndpointActions endpoint={endpoint} />
      </PageHead>
      <div className="page-body">
        <Standing endpoint={endpoint} />
        <Figures endpoint={endpoint} />
        <Resends endpoint={endpoint} />
        <AddressTabs
          tabs={[
            { name: 'tries', label: t('tab.tries'), panel: <Tries endpoint={endpoint} /> },
            ...(endpoint.kind === 'webhook' ? [verify] : []),
            {
              name: 'settings',
              label: t('tab.settings'),
              panel: <EndpointSettings endpoint={endpoint} />,
            },
          ]}
        />
      </div>
    </>
  );
}

/** What is wrong with it, and what mends that. */
function Standing({ endpoint }: { endpoint: Endpoint }) {
  const t = useTranslations('endpoint');
  const { state, failingSince, reason, oldSecretUntil } = endpoint;
  const until = (at: string) => () => <Time at={at} />;
  return (
    <>
      {state === 'disabled' && (
        <p className="note" data-bad role="status">
          {t('disabled', { reason: reason ?? '' })}
        </p>
      )}
      {state === 'active' && failingSince !== null && (
        <p className="note" role="status">
          {t.rich('failing', { at: until(failingSince) })}
        </p>
      )}
      {oldSecretUntil !== null && (
        <p className="note">{t.rich('oldSecret', { at: until(oldSecretUntil) })}</p>
      )}
    </>
  );
}

function Figures({ endpoint }: { endpoint: Endpoint }) {
  const t = useTranslations('endpoint');
  const format = useFormatter();
  const { data } = useBacklog(endpoint.id);
  const minutes = Math.round((data?.oldestSeconds ?? 0) / 60);
  const figures = [
    ['waiting', data === undefined ? '…' : format.number(data.waiting)],
    ['oldest', data === undefined ? '…' : minutes < 1 ? '–' : t('minutes', { minutes })],
    ['setAside', data === undefined ? '…' : format.number(data.setAside)],
    ['rate', useRate(endpoint)],
  ] as const;
  return (
    <dl className="figures">
      {figures.map(([name, value]) => (
        <div key={name} className="card">
          <dt>{t(`figure.${name}`)}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      <div className="card">
        <dt>{t('figure.delivered')}</dt>
        <dd>{endpoint.deliveredAt === null ? '–' : <Time at={endpoint.deliveredAt} near />}</dd>
      </div>
    </dl>
  );
}

const A_PAGE = 50;

/** What was tried and what was answered. */
function Tries({ endpoint }: { endpoint: Endpoint }) {
  const t = useTranslations('endpoint');
  const took = useTook();
  const [failed, setFailed] = useState(false);
  const [opened, setOpened] = useState<string | null>(null);
  const path = { endpointId: endpoint.id };
  const list = useInfiniteQuery({
    queryKey: ['/api/endpoints/{endpointId}/tries', endpoint.id, failed],
    queryFn: ({ pageParam }) =>
      api.get('/api/endpoints/{endpointId}/tries', {
        path,
        query: {
          limit: A_PAGE,
          ...(failed && { failed }),
          ...(pageParam !== null && { before: pageParam }),
        },
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => (last.length < A_PAGE ? null : (last.at(-1)?.id ?? null)),
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) > 1 ? false : 5_000),
  });
  return (
    <>
      <SegmentedControl
        aria-label={t('show')}
        mb="xs"
        data={[
          { value: 'all', label: t('all') },
          { value: 'failed', label: t('failedOnly') },
        ]}
        value={failed ? 'failed' : 'all'}
        onChange={(value) => setFailed(value === 'failed')}
      />
      <Failure error={list.error} />
      <Pages
        list={list}
        none={
          <Nothing icon="deliveries" title={t(failed ? 'noneFailed' : 'noTries')}>
            {t('noTriesHint')}
          </Nothing>
        }
        more={t('more')}
      >
        {(tries) => (
          <Table
            inset
            columns={[
              t('at'),
              t('eventOf'),
              t('lead'),
              { text: t('answer'), keep: true },
              { text: t('took'), number: true },
            ]}
          >
            {tries.map((one) => (
              <Fragment key={one.id}>
                <tr>
                  <td>
                    <UnstyledButton
                      className="opens"
                      aria-expanded={opened === one.id}
                      onClick={() => setOpened(opened === one.id ? null : one.id)}
                    >
                      <Icon name={opened === one.id ? 'down' : 'next'} size={12} />
                      <Time at={one.at} />
                    </UnstyledButton>
                    <span className="under">{one.event}</span>
                  </td>
                  <td>
                    <code>{one.event}</code>
                  </td>
                  <td>
                    {one.leadId === null ? (
                      <span className="soft">{one.alarmId === null ? '–' : t('alarm')}</span>
                    ) : (
                      <Link href={`/leads/${one.leadId}`}>{one.leadId.slice(0, 8)}</Link>
                    )}
                  </td>
                  <td data-keep>
                    <AnswerBadge one={one} />
                  </td>
                  <td className="number">{took(one)}</td>
                </tr>
                {opened === one.id && (
                  <tr className="detail">
                    <td colSpan={5} data-keep>
                      <Exchange endpoint={endpoint} one={one} />
                    </td>
                  </tr>
                )}
              </Fragment>
            ))}
          </Table>
        )}
      </Pages>
    </>
  );
}

/** What was sent, as far as it is kept: no value of the lead is; and what was answered. */
function Exchange({ endpoint, one }: { endpoint: Endpoint; one: Try }) {
  const t = useTranslations('endpoint');
  const outcomeText = useOutcomeText();
  const took = useTook();
  const request =
    endpoint.kind === 'webhook'
      ? [
          `POST ${endpoint.url}`,
          'content-type: application/json',
          `webhook-id: ${one.messageId}`,
          ...endpoint.headers.map((name) => `${name}: …`),
          '',
          JSON.stringify(
            {
              type: one.event,
              data:
                one.leadId !== null
                  ? { leadId: one.leadId, version: one.version }
                  : one.alarmId === null
                    ? {}
                    : { alarmId: one.alarmId },
            },
            null,
            2,
          ),
        ].join('\n')
      : `${one.event}\n${one.messageId}`;
  return (
    <div className="exchange">
      <section>
        <Title order={2} size="h3">
          {t('request')}
        </Title>
        <CodeBlock>{request}</CodeBlock>
        {one.leadId !== null && (
          <Hint size="xs" mt={4}>
            {t.rich('valuesOf', {
              version: one.version ?? 0,
              lead: (text) => <Link href={`/leads/${one.leadId}`}>{text}</Link>,
            })}
          </Hint>
        )}
      </section>
      <section>
        <Title order={2} size="h3">
          {t('answer')}
        </Title>
        <CodeBlock>
          {[one.status ?? outcomeText(one.outcome), one.detail]
            .filter((part) => part !== '')
            .join('\n')}
        </CodeBlock>
        <Hint size="xs" mt={4}>
          {t('answeredIn', { time: took(one) })}
        </Hint>
      </section>
    </div>
  );
}

const SHOWN_FOR_MS = 3_600_000;

/** The newest resend, while it goes on and for a while after. */
function Resends({ endpoint }: { endpoint: Endpoint }) {
  const t = useTranslations('endpoint');
  const now = useNow({ updateInterval: 60_000 });
  const { data } = useGet('/api/runs', {
    query: { workspaceId: endpoint.workspaceId, kind: 'resend', limit: 50 },
  });
  const last = data?.find(({ parameters }) => parameters['endpointId'] === endpoint.id);
  const isNews =
    last !== undefined &&
    (last.endedAt === null || now.getTime() - Date.parse(last.endedAt) < SHOWN_FOR_MS);
  if (!isNews) return null;
  return (
    <Box mb={16}>
      <RunProgress
        runId={last.id}
        describe={({ progress }) => t('resent', { count: progress['resent'] ?? 0 })}
      />
    </Box>
  );
}
