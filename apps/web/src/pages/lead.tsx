import {
  Avatar,
  Badge,
  Button,
  Checkbox,
  Group,
  Menu,
  Stack,
  Text,
  Textarea,
  Timeline,
  Title,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Fragment, type ReactNode, useState } from 'react';
import { useFormatter, useTranslations } from 'use-intl';
import { Link, useParams } from 'wouter';
import { type Answer, api, ApiProblem, type Problem } from '../api.ts';
import { EVERYTHING, useChange, useGet } from '../queries.ts';
import { AnswerBadge, isGood } from '../parts/answer.tsx';
import { Card } from '../parts/card.tsx';
import { useCode, useFieldName } from '../parts/code.ts';
import { Copy } from '../parts/copy.tsx';
import { FormModal } from '../parts/form-modal.tsx';
import { Icon, type IconName } from '../parts/icon.tsx';
import { Failure, Waiting, PageFailure } from '../parts/standing.tsx';
import { nameOf, textOf } from '../parts/text.ts';
import { Time } from '../parts/time.tsx';
import { useSession } from '../session.tsx';
import { Back, PageHead } from '../shell.tsx';
import { MoreMenu } from '../parts/more-menu.tsx';
import { typed, ticked } from '../parts/typed.ts';
import { Hint } from '../parts/styled.tsx';

type Lead = Answer<'/api/leads/{leadId}', 'get'>;
type Step = Lead['history'][number];

/** Fields in the order that people look for them. */
const FIELDS = [
  ...(['email', 'telephone', 'document', 'birthday', 'profession', 'city', 'state'] as const),
  ...(['instagram'] as const),
] as const;
const ADDRESS = [
  ...(['street', 'number', 'complement', 'neighborhood', 'city', 'state', 'zipCode'] as const),
  ...(['country'] as const),
] as const;
const UTM = ['utmSource', 'utmMedium', 'utmCampaign', 'utmContent', 'utmTerm'] as const;

export default function LeadPage() {
  const { leadId = '' } = useParams();
  const { data, error, isPending, refetch } = useGet('/api/leads/{leadId}', {
    path: { leadId },
    query: { history: 200 },
  });
  if (error instanceof ApiProblem && error.problem.erasure !== undefined)
    return <ErasedLead erasure={error.problem.erasure} />;
  if (error !== null) return <PageFailure error={error} again={() => void refetch()} />;
  return isPending ? <Waiting /> : <LeadView lead={data} />;
}

/** What stays of a person whose data is gone, under any id that was ever answered. */
function ErasedLead({ erasure }: { erasure: NonNullable<Problem['erasure']> }) {
  const t = useTranslations('lead');
  return (
    <>
      <PageHead title={erasure.leadId} before={<Back to="/leads" label={t('back')} />} />
      <div className="page-body">
        <p className="note" role="status">
          {t.rich('erasedBecause', {
            reason: erasure.reason,
            at: () => <Time at={erasure.at} />,
          })}
        </p>
      </div>
    </>
  );
}

function LeadView({ lead }: { lead: Lead }) {
  const t = useTranslations('lead');
  const { may } = useSession();
  const name = lead.name ?? lead.email ?? lead.telephone ?? t('unnamed');
  return (
    <>
      <PageHead
        title={name}
        before={
          <>
            <Back to="/leads" label={t('back')} />
            <Avatar name={lead.name ?? ''} radius="xl" size={36} color="pine" />
          </>
        }
        hint={
          <>
            {lead.workspace} · {t('firstSeen')} <Time at={lead.createdAt} /> ·{' '}
            {t('posts', { count: lead.submissions })}
          </>
        }
      >
        {may('operator', lead.workspaceId) && <Act lead={lead} />}
      </PageHead>
      <div className="page-body">
        <div className="lead">
          <Stack gap="md">
            <Facts lead={lead} />
            <Touches lead={lead} />
            <Consents lead={lead} />
            <Duplicates lead={lead} />
            <Identities lead={lead} />
          </Stack>
          <History lead={lead} />
        </div>
      </div>
    </>
  );
}

/** Every value with the post that it came from. */
function Facts({ lead }: { lead: Lead }) {
  const t = useTranslations('lead');
  const field = useTranslations('leads.column');
  const address = useTranslations('address');
  const postOf = new Map(lead.history.map((step) => [step.submissionId, step]));
  const rows = [
    ...FIELDS.flatMap((name) => {
      const value = lead[name];
      return value === undefined ? [] : [{ path: name, label: field(name), value }];
    }),
    ...ADDRESS.flatMap((part) => {
      const value = lead.address?.[part];
      return typeof value === 'string' && value !== ''
        ? [{ path: `address.${part}`, label: address(part), value }]
        : [];
    }),
  ];
  const fromOf = (path: string): ReactNode => {
    const source = lead.provenance[path];
    if (source === undefined) return null;
    const link = postOf.get(source.submissionId)?.linkLabel;
    return (
      <>
        {link && `${link} · `}
        <Time at={source.at} />
      </>
    );
  };
  const creator = lead.createdBy === null ? null : postOf.get(lead.createdBy);
  return (
    <Card title={t('facts')}>
      {rows.length + lead.customFieldDetails.length === 0 && <p className="soft">{t('noFacts')}</p>}
      <dl className="facts">
        {rows.map(({ path, label, value }) => (
          <Fact key={path} label={label} value={value} from={fromOf(path)} />
        ))}
        {lead.customFieldDetails.map(({ id, label, value }) => (
          <Fact
            key={id}
            label={label}
            value={textOf(value)}
            from={creator ? <Time at={creator.at} /> : null}
          />
        ))}
      </dl>
    </Card>
  );
}

const Fact = ({ label, value, from }: { label: string; value: string; from: ReactNode }) => (
  <div>
    <dt>{label}</dt>
    <dd>
      <span className="fact">
        {/* A long address goes on in the next line at its @. */}
        <span>
          {value.split(/(?=@)/).map((part, index) => (
            <Fragment key={index}>
              {index > 0 && <wbr />}
              {part}
            </Fragment>
          ))}
        </span>
        <Copy text={value} />
      </span>
      {from !== null && <span className="second">{from}</span>}
    </dd>
  </div>
);

function Touches({ lead }: { lead: Lead }) {
  const t = useTranslations('lead');
  const name = useTranslations('leads.column');
  const { firstTouch, lastTouch } = lead;
  if (firstTouch === null || lastTouch === null) return null;
  const one = firstTouch.submissionId === lastTouch.submissionId;
  const touches = one
    ? ([['touch', lastTouch]] as const)
    : ([
        ['firstTouch', firstTouch],
        ['lastTouch', lastTouch],
      ] as const);
  return (
    <Stack gap="md">
      {touches.map(([title, touch]) => (
        <Card key={title} title={t(title)}>
          <dl className="facts">
            {UTM.flatMap((mark) => {
              const value = touch[mark];
              return value === undefined
                ? []
                : [<Fact key={mark} label={name(mark)} value={value} from={null} />];
            })}
            {Object.entries(touch.attribution ?? {}).map(([mark, value]) => (
              <Fact key={mark} label={mark} value={textOf(value)} from={null} />
            ))}
          </dl>
          <Hint size="xs">
            <Time at={touch.at} />
          </Hint>
        </Card>
      ))}
    </Stack>
  );
}

function Consents({ lead }: { lead: Lead }) {
  const t = useTranslations('lead');
  const consentText = useCode((texts) => texts.lead.consented);
  if (lead.consents.length === 0) return null;
  return (
    <Card title={t('consent')}>
      <Stack gap="sm">
        {lead.consents.map((consent) => (
          <div key={consent.submissionId}>
            <Group gap={8}>
              <Badge color={consent.action === 'granted' ? 'pine' : 'gray'}>
                {consentText(consent.action)}
              </Badge>
              <Hint size="xs">
                <Time at={consent.at} />
                {consent.textVersion !== undefined && ` · ${consent.textVersion}`}
              </Hint>
            </Group>
            {consent.text !== undefined && (
              <blockquote className="quote">{consent.text}</blockquote>
            )}
            {consent.page !== null && (
              <Hint size="xs" className="wrap">
                {consent.page}
              </Hint>
            )}
          </div>
        ))}
      </Stack>
    </Card>
  );
}

function Duplicates({ lead }: { lead: Lead }) {
  const t = useTranslations('lead');
  if (lead.possibleDuplicates.length === 0) return null;
  return (
    <Card title={t('duplicates')}>
      <Hint mb="xs">{t('duplicatesHint')}</Hint>
      {lead.possibleDuplicates.map((other) => (
        <Group key={other.leadId} justify="space-between" wrap="nowrap" gap="xs">
          <Link href={`/leads/${other.leadId}`} className="wrap">
            {nameOf(other)}
          </Link>
          <Button component="a" variant="default" href={`/inbox/duplicates?lead=${lead.leadId}`}>
            {t('compare')}
          </Button>
        </Group>
      ))}
    </Card>
  );
}

function Identities({ lead }: { lead: Lead }) {
  const t = useTranslations('lead');
  return (
    <Card title={t('knownBy')}>
      <dl className="facts">
        {lead.identities.map(({ kind, value, since }) => (
          <Fact
            key={`${kind}:${value}`}
            label={t(kind === 'email' ? 'emailKey' : 'phoneKey')}
            value={value}
            from={<Time at={since} />}
          />
        ))}
        {[lead.leadId, ...lead.aliases].map((id, index) => (
          <Fact key={id} label={t(index === 0 ? 'id' : 'formerId')} value={id} from={null} />
        ))}
      </dl>
    </Card>
  );
}

/** What happened at a time. */
interface Happening {
  key: string;
  at: string;
  icon: IconName;
  title: ReactNode;
  badge?: ReactNode;
  body?: ReactNode;
}

/** What came, was sent, was merged and was read, newest first. */
function History({ lead }: { lead: Lead }) {
  const t = useTranslations('lead');
  const events = useEvents(lead);
  const more = lead.submissions - lead.history.length;
  const posts = lead.history.map((step): Happening => {
    const isImport = step.source === 'import';
    return {
      ...{ key: step.submissionId, at: step.acceptedAt, icon: isImport ? 'imports' : 'post' },
      title: t(isImport ? 'importedBy' : 'postedTo', {
        link: step.linkLabel || step.linkId.slice(0, 8),
      }),
      badge: step.submissionId === lead.createdBy && <Badge color="pine">{t('created')}</Badge>,
      body: <StepBody step={step} alias={step.reservedFor !== lead.leadId} />,
    };
  });
  const all = [...posts, ...events].sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  return (
    <section className="lead-history">
      <Title order={2} mb="sm">
        {t('timeline')}
      </Title>
      {posts.length === 0 && <p className="soft">{t('noPosts')}</p>}
      <Timeline bulletSize={22} lineWidth={1} color="gray">
        {all.map(({ key, at, icon, title, badge, body }) => (
          <Timeline.Item
            key={key}
            bullet={<Icon name={icon} size={12} />}
            title={
              <Group gap={8}>
                <Text size="sm" fw={550}>
                  {title}
                </Text>
                {badge}
                <Hint size="xs">
                  <Time at={at} />
                </Hint>
              </Group>
            }
          >
            {body}
          </Timeline.Item>
        ))}
      </Timeline>
      {more > 0 && <p className="soft">{t('older', { count: more })}</p>}
    </section>
  );
}

/** What happened besides the posts: messages to endpoints, merges, and for an administrator who read it. */
function useEvents({ leadId, workspaceId }: Lead): Happening[] {
  const t = useTranslations('lead');
  const { may } = useSession();
  const events = useGet('/api/leads/{leadId}/events', { path: { leadId }, query: {} });
  const reads = useGet('/api/reads', {
    query: { leadId, limit: 200 },
    enabled: may('administrator'),
  });
  const to = (endpointId: string, endpoint: string) => ({
    endpoint: () =>
      may('operator', workspaceId) ? (
        <Link href={`/deliveries/${endpointId}`}>{endpoint}</Link>
      ) : (
        endpoint
      ),
  });
  const { sent = [], waiting = [], merges = [] } = events.data ?? {};
  return [
    ...waiting.map(({ endpointId, endpoint, dueAt, attempts }): Happening => ({
      ...{ key: `waits ${endpointId}`, at: dueAt, icon: 'clock' },
      title: t.rich('waits', to(endpointId, endpoint)),
      badge: attempts > 0 && <Badge color="yellow">{t('tries', { count: attempts })}</Badge>,
    })),
    ...sent.map(({ endpointId, endpoint, at, event, outcome, status }): Happening => {
      const one = { outcome, status };
      return {
        ...{ key: `sent ${endpointId} ${at}`, at, icon: 'deliveries' },
        title: t.rich(isGood(one) ? 'delivered' : 'notDelivered', to(endpointId, endpoint)),
        badge: <AnswerBadge one={one} />,
        body: <code className="soft">{event}</code>,
      };
    }),
    ...merges.map(({ leadId: other, at }): Happening => ({
      ...{ key: `merge ${other}`, at, icon: 'merge' },
      title: t('merged', { id: other.slice(0, 8) }),
    })),
    ...readings(reads.data ?? []).map(({ first: { id, at, actor, action }, count }): Happening => ({
      ...{ key: `read ${id}`, at, icon: 'account' },
      title: t('read', { name: actor.name, count }),
      body: <code className="soft">{action}</code>,
    })),
  ];
}

type Read = Answer<'/api/reads', 'get'>[number];

/** The same read of the same person on a day is one, with how often it was. */
function readings(reads: readonly Read[]): { first: Read; count: number }[] {
  const days = new Map<string, { first: Read; count: number }>();
  for (const read of reads) {
    const day = new Date(read.at).toDateString();
    const key = `${day} ${read.actor.kind} ${read.actor.name} ${read.action}`;
    const known = days.get(key);
    if (known === undefined) days.set(key, { first: read, count: 1 });
    else known.count += 1;
  }
  return [...days.values()];
}

function StepBody({ step, alias }: { step: Step; alias: boolean }) {
  const t = useTranslations('lead');
  const noteText = useCode(({ note }) => note);
  const nameOfField = useFieldName();
  const format = useFormatter();
  const sent = Object.entries(step.sent).flatMap(([key, value]) => flat(key, value));
  const stands = new Set(step.stands);
  const isLate = Math.abs(Date.parse(step.acceptedAt) - Date.parse(step.at)) > 60_000;
  return (
    <div className="step">
      {sent.length > 0 && (
        <p>
          {sent.map(([path, value], index) => (
            <span key={path}>
              {index > 0 && ' · '}
              <span
                className={
                  stands.has(path) || stands.has(path.split('.')[0] ?? '') ? 'stands' : 'soft'
                }
              >
                {nameOfField(path)}: {value}
              </span>
            </span>
          ))}
        </p>
      )}
      {isLate && (
        <p className="soft">
          {t('factsFrom', {
            at: format.dateTime(new Date(step.at), { dateStyle: 'medium', timeStyle: 'short' }),
          })}
        </p>
      )}
      {alias && (
        <p className="soft">
          <Icon name="merge" size={12} /> {t('asFormer', { id: step.reservedFor.slice(0, 8) })}
        </p>
      )}
      {step.page !== null && <p className="soft wrap">{step.page}</p>}
      {step.notes.length > 0 && (
        <ul className="notes">
          {step.notes.map(({ field, code, detail }, index) => (
            <li key={index}>
              <code>{field}</code> {noteText(code)} {detail}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** A value of a post as paths and texts. */
function flat(path: string, value: unknown): [path: string, text: string][] {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.entries(value).flatMap(([key, inner]) => flat(`${path}.${key}`, inner));
  return [[path, textOf(value)]];
}

function Act({ lead }: { lead: Lead }) {
  const t = useTranslations('lead');
  const { may } = useSession();
  const [erasing, { open, close }] = useDisclosure();
  return (
    <>
      <Button
        variant="default"
        component="a"
        href={`/api/leads/${lead.leadId}/person`}
        download={`lead-${lead.leadId.slice(0, 8)}.json`}
        leftSection={<Icon name="download" size={14} />}
      >
        {t('export')}
      </Button>
      {may('administrator', lead.workspaceId) && (
        <MoreMenu label={t('more')}>
          <Menu.Item color="red" leftSection={<Icon name="erase" size={14} />} onClick={open}>
            {t('erase')}
          </Menu.Item>
        </MoreMenu>
      )}
      {erasing && <Erase lead={lead} close={close} />}
    </>
  );
}

/** Says first what would go. */
function Erase({ lead, close }: { lead: Lead; close: () => void }) {
  const t = useTranslations('lead');
  const [reason, setReason] = useState('');
  const [sure, setSure] = useState(false);
  const ask = (dryRun: boolean) =>
    api.post('/api/workspaces/{workspaceId}/erasures', {
      path: { workspaceId: lead.workspaceId },
      body: { leadId: lead.leadId, reason: reason.trim() || '-', dryRun },
    });
  const preview = useQuery({ queryKey: ['erasure', lead.leadId], queryFn: () => ask(true) });
  const erase = useChange([EVERYTHING], () => ask(false), close);
  const counts = preview.data?.counts;
  return (
    <FormModal
      close={close}
      title={t('eraseTitle')}
      label={t('erase')}
      act={erase}
      danger
      disabled={!sure || reason.trim() === ''}
    >
      <Text size="sm">{t('eraseHint')}</Text>
      <Failure error={preview.error} />
      {counts !== undefined && (
        <p className="soft">
          {t('eraseCounts', {
            ...{ submissions: counts.submissions, identities: counts.identities },
            others: counts.rejected + counts.held + counts.discarded + counts.failed,
          })}
        </p>
      )}
      <Textarea
        label={t('reason')}
        description={t('reasonHint')}
        required
        autosize
        minRows={2}
        {...typed(reason, setReason)}
      />
      <Checkbox label={t('eraseSure')} {...ticked(sure, setSure)} />
    </FormModal>
  );
}
