import { Badge } from '@mantine/core';
import { useFormatter, useTranslations } from 'use-intl';
import { Link, useLocation } from 'wouter';
import type { Answer } from '../api.ts';
import { useGet } from '../queries.ts';
import { linkName, useLinks } from '../lead-filters.tsx';
import { useListKeys } from '../list-keys.ts';
import { type Alarm, useAlarms } from '../overview-figures.ts';
import { Spark } from '../parts/bars.tsx';
import { useCode } from '../parts/code.ts';
import { Copy } from '../parts/copy.tsx';
import { Nothing, Waiting, PageFailure } from '../parts/standing.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { AddButton } from '../parts/styled.tsx';
import { useSession, type Workspace } from '../session.tsx';
import { ofWorkspace, PageHead } from '../shell.tsx';

type LinkOfList = Answer<'/api/links', 'get'>[number];
type Activity = Answer<'/api/links/activity', 'get'>[number];

export default ofWorkspace(LinksPage);

function LinksPage({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('links');
  const { may } = useSession();
  return (
    <>
      <PageHead title={t('title')}>
        {may('operator', workspace.id) && (
          <AddButton component={Link} href="/links/new">
            {t('new')}
          </AddButton>
        )}
      </PageHead>
      <List workspace={workspace} />
    </>
  );
}

/** The state of a link, in its colour. */
export function LinkState({ status }: { status: string }) {
  const statusText = useCode(({ links }) => links.status);
  return <Badge color={status === 'open' ? 'pine' : 'gray'}>{statusText(status)}</Badge>;
}

function List({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('links');
  const links = useLinks(workspace.id);
  const { data: activity = [] } = useGet('/api/links/activity', {
    query: { workspaceId: workspace.id },
    refetchInterval: 30_000,
  });
  const { may } = useSession();
  const { data: alarms = [] } = useAlarms(workspace.id, may('viewer'));
  const [, go] = useLocation();
  const rows = links.data ?? [];
  const at = useListKeys(rows.length, {
    enter: (index) => rows[index] !== undefined && go(`/links/${rows[index].id}`),
  });
  if (links.error !== null)
    return <PageFailure error={links.error} again={() => void links.refetch()} />;
  if (links.isPending) return <Waiting />;
  if (rows.length === 0)
    return (
      <Nothing icon="links" title={t('none')}>
        {t('noneHint')}
      </Nothing>
    );
  return (
    <Table
      columns={[
        t('label'),
        { text: t('state'), keep: true },
        t('activity'),
        t('lastPost'),
        { text: t('refused'), number: true },
        t('url'),
      ]}
    >
      {rows.map((link, index) => (
        <LinkRow
          key={link.id}
          link={link}
          activity={activity.find(({ linkId }) => linkId === link.id)}
          alarms={alarms.filter(({ subject }) => subject === link.id)}
          isAt={index === at}
        />
      ))}
    </Table>
  );
}

function LinkRow({
  link,
  activity,
  alarms,
  isAt,
}: {
  link: LinkOfList;
  activity: Activity | undefined;
  alarms: readonly Alarm[];
  isAt: boolean;
}) {
  const t = useTranslations('links');
  const format = useFormatter();
  const posts = activity?.days.reduce((sum, n) => sum + n, 0) ?? 0;
  const share =
    activity === undefined || activity.posts === 0 ? 0 : activity.refused / activity.posts;
  return (
    <tr data-at={isAt ? '' : undefined}>
      <td>
        <Link href={`/links/${link.id}`} className="row">
          {linkName(link)}
        </Link>
        <span className="under">
          {activity?.lastAt == null ? t('noPost') : <Time at={activity.lastAt} near />}
        </span>
      </td>
      <td data-keep>
        <LinkState status={link.status} />{' '}
        {link.unrecognised.week > 0 && (
          <Badge color="orange" component={Link} href={`/links/${link.id}?tab=mapping`}>
            {t('unrecognised', { count: link.unrecognised.week })}
          </Badge>
        )}{' '}
        {alarms.map(({ id, kind }) => (
          <Badge key={id} color="red">
            {t(`alarm.${kind === 'refusals' || kind === 'silence' ? kind : 'other'}`)}
          </Badge>
        ))}
      </td>
      <td>
        {activity !== undefined && (
          <Spark values={activity.days} label={t('posts', { count: posts })} />
        )}
      </td>
      <td>
        {activity?.lastAt == null ? (
          <span className="soft">–</span>
        ) : (
          <Time at={activity.lastAt} near />
        )}
      </td>
      <td className="number" data-tone={share > 0.2 ? 'bad' : undefined}>
        {share === 0 ? <span className="soft">–</span> : format.number(share, { style: 'percent' })}
      </td>
      <td>
        <span className="fact">
          <code className="ellipsis">{link.captureUrl ?? link.code}</code>
          <Copy text={link.captureUrl ?? link.code} />
        </span>
      </td>
    </tr>
  );
}
