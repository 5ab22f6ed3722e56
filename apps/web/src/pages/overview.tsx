import { Button, Group, SegmentedControl, Skeleton, VisuallyHidden } from '@mantine/core';
import { useFormatter, useTranslations } from 'use-intl';
import { Link, useSearchParams } from 'wouter';
import { type Grain, GRAINS, grainOf } from '../asked.ts';
import { useLinks } from '../lead-filters.tsx';
import {
  type Alarm,
  type Figures,
  useAlarms,
  useBacklog,
  useFigures,
  useLedger,
  useQueue,
  useRefused,
} from '../overview-figures.ts';
import { Bars } from '../parts/bars.tsx';
import { Card } from '../parts/card.tsx';
import { useCode } from '../parts/code.ts';
import { useDuration } from '../parts/duration.ts';
import { Figure } from '../parts/figure.tsx';
import { Icon, type IconName } from '../parts/icon.tsx';
import { Failure, Waiting } from '../parts/standing.tsx';
import { Time } from '../parts/time.tsx';
import { Hint } from '../parts/styled.tsx';
import { useSession, type Workspace } from '../session.tsx';
import { ofWorkspace, PageHead } from '../shell.tsx';
import { type Happening, useTail } from '../tail.ts';

export default ofWorkspace(OverviewPage);

function OverviewPage({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('overview');
  const [params, setParams] = useSearchParams();
  const grain = grainOf(params);
  return (
    <>
      <PageHead title={t('title')}>
        <SegmentedControl
          aria-label={t('by')}
          data={GRAINS.map((value) => ({ value, label: t(`grain.${value}`) }))}
          value={grain}
          onChange={(by) => setParams({ by }, { replace: true })}
        />
      </PageHead>
      <div className="page-body overview">
        <Alarms workspace={workspace} />
        <Numbers workspace={workspace} grain={grain} />
        <div className="overview-two">
          <Live workspace={workspace} />
          <Refused workspace={workspace} />
        </div>
      </div>
    </>
  );
}

/** What a person should look at, above everything. */
function Alarms({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('overview');
  const { may } = useSession();
  const { data = [] } = useAlarms(workspace.id, may('viewer'));
  if (data.length === 0) return null;
  return (
    <section aria-label={t('alarms')} className="alarms">
      {data.map((alarm) => (
        <AlarmLine key={alarm.id} alarm={alarm} />
      ))}
    </section>
  );
}

function AlarmLine({ alarm }: { alarm: Alarm }) {
  const t = useTranslations('overview');
  const { kind, label, subject, facts } = alarm;
  return (
    <p className="alarm">
      <Icon name="warning" />
      <span className="grow">
        {t(`alarm.${kind}`, {
          label: label || subject.slice(0, 8),
          percent: facts.percent ?? 0,
          hours: facts.hours ?? 0,
        })}{' '}
        <Time at={alarm.openedAt} near soft />
      </span>
      <Link href={placeOf(alarm)}>{t('look')}</Link>
    </p>
  );
}

function placeOf({ kind, subject }: Alarm): string {
  switch (kind) {
    case 'refusals':
      return `/inbox?link=${subject}`;
    case 'deliveries':
      return `/deliveries/${subject}`;
    case 'queue':
      return '/queue';
    default:
      return `/links/${subject}`;
  }
}

function Numbers({ workspace, grain }: { workspace: Workspace; grain: Grain }) {
  const t = useTranslations('overview');
  const { data, error, refetch } = useFigures(workspace.id, grain);
  if (error !== null) return <Failure error={error} again={() => void refetch()} />;
  if (data === undefined)
    return (
      <>
        <Skeleton height={84} />
        <Skeleton height={260} mt="md" />
        <VisuallyHidden role="status">{t('loading')}</VisuallyHidden>
      </>
    );
  return (
    <>
      <Cards workspace={workspace} grain={grain} figures={data} />
      <Chart grain={grain} figures={data} />
      <Books workspace={workspace} />
    </>
  );
}

/** Milliseconds at which somebody should look, and at which somebody should act. */
const AGE = { warn: 60_000, bad: 300_000 };

function Cards({
  workspace,
  grain,
  figures: { now, before },
}: {
  workspace: Workspace;
  grain: Grain;
  figures: Figures;
}) {
  const t = useTranslations('overview');
  const format = useFormatter();
  const duration = useDuration();
  const { may } = useSession();
  const queue = useQueue(may('viewer'));
  const backlog = useBacklog(workspace.id, may('operator', workspace.id));
  const stored = now.created + now.updated;
  const age = queue.data?.oldestWaitingMs ?? null;
  return (
    <dl className="numbers">
      <Figure name={t('leads')} value={format.number(stored)}>
        <Change now={stored} before={before.created + before.updated} grain={grain} />
      </Figure>
      <Figure name={t('created')} value={format.number(now.created)}>
        {t('known', { count: now.updated })}
      </Figure>
      <Figure name={t('accepted')} value={format.number(now.accepted)}>
        {t('storedOf', { stored, held: now.held })}
      </Figure>
      <Figure
        name={t('refused')}
        value={format.number(now.refused)}
        tone={now.refused > 0 && now.refused * 5 > now.accepted ? 'bad' : undefined}
      >
        {now.refused === 0 ? (
          t('noneRefused')
        ) : (
          <Link href="/inbox">
            {t('refusedShare', { share: now.refused / (now.refused + now.accepted) })}
          </Link>
        )}
      </Figure>
      {backlog.data !== undefined && backlog.data.endpoints > 0 && (
        <Figure
          name={t('toDeliver')}
          value={format.number(backlog.data.waiting)}
          tone={backlog.data.setAside > 0 ? 'bad' : undefined}
        >
          {t('delivered', { delivered: now.delivered, setAside: backlog.data.setAside })}
        </Figure>
      )}
      {queue.data !== undefined && (
        <Figure
          name={t('oldest')}
          value={age === null ? t('noneWaits') : duration(age)}
          tone={age === null || age < AGE.warn ? 'good' : age < AGE.bad ? 'warn' : 'bad'}
        >
          <Link href="/queue">
            {queue.data.paused ? t('paused') : t('waiting', { count: queue.data.waiting })}
          </Link>
        </Figure>
      )}
    </dl>
  );
}

/** How it stands beside the week before. */
function Change({ now, before, grain }: { now: number; before: number; grain: Grain }) {
  const t = useTranslations('overview');
  if (before === 0) return t('nothingBefore');
  return (
    <>
      <span className={now >= before ? 'up' : 'down'}>
        {t('change', { change: (now - before) / before })}
      </span>{' '}
      {t(`than.${grain}`)}
    </>
  );
}

function Chart({ grain, figures: { times, zone } }: { grain: Grain; figures: Figures }) {
  const t = useTranslations('overview');
  const format = useFormatter();
  const bars = times.map(({ at, now, before }) => ({
    at,
    label:
      grain === 'hour'
        ? format.dateTime(new Date(at), { hour: '2-digit', minute: '2-digit' })
        : format.dateTime(new Date(at), { day: 'numeric', month: 'short', timeZone: 'UTC' }),
    value: now.created + now.updated,
    before: before.created + before.updated,
  }));
  return (
    <Card
      title={t(`chart.${grain}`)}
      aside={
        <Group gap="md" className="soft legend">
          <span data-of="now">{t('stored')}</span>
          <span data-of="before">{t('weekBefore')}</span>
          {grain === 'day' && <span>{t('zone', { zone })}</span>}
        </Group>
      }
    >
      <Bars
        bars={bars}
        title={t(`chart.${grain}`)}
        names={[t('stored'), t('weekBefore')]}
        every={grain === 'hour' ? 4 : 2}
      />
    </Card>
  );
}

/** Whether all of the last day came to an end, in a line. */
function Books({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('overview');
  const { data } = useLedger(workspace.id);
  if (data === undefined) return <p className="books soft">{t('booksLoading')}</p>;
  const sum = (of: 'accepted' | 'stored' | 'held' | 'failed' | 'erased' | 'waiting') =>
    data.links.reduce((all, link) => all + link[of], 0);
  const missing = data.links.filter(({ difference }) => difference > 0);
  return (
    <p className="books" data-tone={data.difference > 0 ? 'bad' : 'good'}>
      <Icon name={data.difference > 0 ? 'warning' : 'done'} />
      <span>
        {data.difference > 0
          ? t('booksOff', {
              count: data.difference,
              links: missing.map(({ label, linkId }) => label || linkId.slice(0, 8)).join(', '),
            })
          : t('booksRight', {
              ...{ accepted: sum('accepted'), stored: sum('stored'), held: sum('held') },
              ...{ failed: sum('failed'), erased: sum('erased'), waiting: sum('waiting') },
            })}
      </span>
    </p>
  );
}

const ICONS: Record<Happening['kind'], IconName> = {
  submission: 'leads',
  rejected: 'inbox',
  failed: 'warning',
};

/** What happens, as it happens. */
function Live({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('overview');
  const { state, happenings } = useTail(workspace.id);
  const links = useLinks(workspace.id);
  const nameOf = (id: string | null) => links.data?.find((one) => one.id === id)?.label ?? '';
  return (
    <Card
      title={t('live')}
      aside={
        <span className="soft pulse" data-on={state === 'following' || undefined}>
          {t(`state.${state}`)}
        </span>
      }
    >
      {happenings.length === 0 ? (
        <Hint>{t('quiet')}</Hint>
      ) : (
        <ul className="plain happenings">
          {happenings.map(({ key, kind, at, linkId, about, href }) => (
            <li key={key} data-kind={kind}>
              <Icon name={ICONS[kind]} size={14} />
              <span className="grow">
                <Link href={href}>{about}</Link> <span className="soft">{nameOf(linkId)}</span>
              </span>
              <Time at={at} near soft />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

const MOST_CODES = 6;

function Refused({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('overview');
  const wordsOf = useCode();
  const format = useFormatter();
  const { data, error, refetch } = useRefused(workspace.id);
  const most = Math.max(...(data ?? []).map(({ n }) => n), 1);
  return (
    <Card title={t('refusedBy')}>
      {data === undefined ? (
        error === null ? (
          <Waiting />
        ) : (
          <Failure error={error} again={() => void refetch()} />
        )
      ) : data.length === 0 ? (
        <Hint>{t('noneRefused')}</Hint>
      ) : (
        <>
          <ul className="plain shares">
            {data.slice(0, MOST_CODES).map(({ code: name, n }) => (
              <li key={name}>
                <span className="share" style={{ width: `${(n / most) * 100}%` }} />
                <span>{wordsOf(name)}</span>
                <span>{format.number(n)}</span>
              </li>
            ))}
          </ul>
          <Button component={Link} href="/inbox" variant="default" mt="sm">
            {t('mend')}
          </Button>
        </>
      )}
    </Card>
  );
}
