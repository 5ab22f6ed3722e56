import { Button, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { Link, useSearchParams } from 'wouter';
import { type Answer, api } from '../api.ts';
import { useChange, useGet } from '../queries.ts';
import { INBOX } from '../inbox-data.ts';
import { useListKeys } from '../list-keys.ts';
import { useFieldName } from '../parts/code.ts';
import { Failure, Nothing, Waiting } from '../parts/standing.tsx';
import { RowButton } from '../parts/styled.tsx';
import { nameOf, textOf } from '../parts/text.ts';
import { Time } from '../parts/time.tsx';
import { useSession, type Workspace } from '../session.tsx';
import { Back, ofWorkspace, PageHead } from '../shell.tsx';

type Pair = Answer<'/api/duplicates', 'get'>[number];
type Lead = Answer<'/api/leads/{leadId}', 'get'>;

const LISTED = 100;

export default ofWorkspace(Pairs);

function Pairs({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('inbox');
  const [params] = useSearchParams();
  const leadId = params.get('lead') ?? undefined;
  const [chosen, setChosen] = useState<string | null>(null);
  const { data, error, isPending, refetch } = useGet('/api/duplicates', {
    query: { workspaceId: workspace.id, limit: LISTED, ...(leadId && { leadId }) },
  });
  const pairs = data ?? [];
  const current = pairs.find(({ pair }) => pair === chosen) ?? pairs[0];
  useListKeys(pairs.length, {}, (index) => setChosen(pairs[index]?.pair ?? null));
  return (
    <>
      <PageHead
        title={t('duplicates')}
        before={<Back to="/inbox" label={t('back')} />}
        hint={t('duplicatesHint')}
      />
      <div className="page-body">
        {error !== null ? (
          <Failure error={error} again={() => void refetch()} />
        ) : isPending ? (
          <Waiting />
        ) : current === undefined ? (
          <Nothing icon="done" title={t('noPairs')} />
        ) : (
          <div className="beside">
            <section aria-label={t('pairs')}>
              <ul className="plain rows inset scroll">
                {pairs.map(({ pair, a, b, since }) => (
                  <li key={pair} data-at={pair === current.pair ? '' : undefined}>
                    <RowButton aria-current={pair === current.pair} onClick={() => setChosen(pair)}>
                      {nameOf(a)} · {nameOf(b)}
                    </RowButton>
                    <Time at={since} near soft />
                  </li>
                ))}
              </ul>
            </section>
            <Compare key={current.pair} pair={current} />
          </div>
        )}
      </div>
    </>
  );
}

const leadOf = (leadId: string) =>
  api.get('/api/leads/{leadId}', { path: { leadId }, query: { history: 1 } });

const FIELDS = [
  ...(['name', 'email', 'telephone', 'document', 'birthday', 'profession', 'city'] as const),
  ...(['state', 'instagram', 'utmSource', 'utmMedium', 'utmCampaign'] as const),
];

/** Two leads beside each other, and which of them is to stay. */
function Compare({ pair: { workspaceId, a, b } }: { pair: Pair }) {
  const t = useTranslations('inbox');
  const nameOfField = useFieldName();
  const { may } = useSession();
  const { data, error } = useQuery({
    queryKey: ['/api/duplicates', a.leadId, b.leadId],
    queryFn: () => Promise.all([leadOf(a.leadId), leadOf(b.leadId)]),
  });
  const merge = useChange(INBOX, ({ kept, other }: { kept: string; other: string }) =>
    api.post('/api/workspaces/{workspaceId}/leads/{leadId}/merge/{otherId}', {
      path: { workspaceId, leadId: kept, otherId: other },
    }),
  );
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Waiting />;
  const valueOf = (lead: Lead, field: string): string => {
    const value: unknown = Reflect.get(lead, field);
    return value === undefined || value === null ? '' : textOf(value);
  };
  const shown = FIELDS.filter((field) => data.some((lead) => valueOf(lead, field) !== ''));
  return (
    <section className="card lead-card">
      <Text size="sm" mb="sm">
        {t('mergeHint')}
      </Text>
      <table className="list inset compare">
        <thead>
          <tr>
            <td />
            {data.map((lead) => (
              <th key={lead.leadId} scope="col" data-keep>
                <Link href={`/leads/${lead.leadId}`}>{nameOf(lead)}</Link>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((field) => {
            const values = data.map((lead) => valueOf(lead, field));
            return (
              <tr key={field} data-differs={values[0] !== values[1] || undefined}>
                <th scope="row">{nameOfField(field)}</th>
                {values.map((value, n) => (
                  <td key={n} data-keep>
                    {value}
                  </td>
                ))}
              </tr>
            );
          })}
          <tr>
            <th scope="row">{t('firstSeen')}</th>
            {data.map(({ leadId, createdAt }) => (
              <td key={leadId} data-keep>
                <Time at={createdAt} />
              </td>
            ))}
          </tr>
        </tbody>
        {may('operator', workspaceId) && (
          <tfoot>
            <tr>
              <td />
              {data.map(({ leadId }, n) => (
                <td key={leadId} data-keep>
                  <Button
                    variant={n === 0 ? 'filled' : 'default'}
                    disabled={merge.isPending}
                    onClick={() => merge.mutate({ kept: leadId, other: data[1 - n]?.leadId ?? '' })}
                  >
                    {t('keepThis')}
                  </Button>
                </td>
              ))}
            </tr>
          </tfoot>
        )}
      </table>
      <Failure act error={merge.error} />
    </section>
  );
}
