import { Button, Group, Menu, NumberInput, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useFormatter, useTranslations } from 'use-intl';
import { Link as To, useParams, useSearchParams } from 'wouter';
import { api, ApiProblem } from '../api.ts';
import { useChange, useGet } from '../queries.ts';
import { endOf, formOf, type Link, LinkFields, settingsOf } from '../link-form.tsx';
import { Mapping } from '../link-mapping.tsx';
import { useFigures } from '../overview-figures.ts';
import { AddressTabs } from '../parts/address-tabs.tsx';
import { Bars } from '../parts/bars.tsx';
import { Card } from '../parts/card.tsx';
import { Copy } from '../parts/copy.tsx';
import { Icon } from '../parts/icon.tsx';
import { Failure, Waiting, PageFailure } from '../parts/standing.tsx';
import { Table } from '../parts/table.tsx';
import { nameOf } from '../parts/text.ts';
import { Time } from '../parts/time.tsx';
import { useSession } from '../session.tsx';
import { Back, PageHead } from '../shell.tsx';
import { LinkState } from './links.tsx';
import { PageForm } from '../parts/page-form.tsx';
import { FormModal } from '../parts/form-modal.tsx';
import { MoreMenu } from '../parts/more-menu.tsx';
import { typed } from '../parts/typed.ts';
import { CodeInput } from '../parts/form-code.tsx';
import { CodeBlock, Hint } from '../parts/styled.tsx';

export default function LinkPage() {
  const { linkId = '' } = useParams();
  const { data, error, refetch } = useGet('/api/links/{linkId}', { path: { linkId } });
  const failure = <PageFailure error={error} again={() => void refetch()} />;
  if (data === undefined) return error === null ? <Waiting /> : failure;
  // What is typed there stays when it is asked for again in vain.
  return (
    <>
      {failure}
      <LinkView link={data} />
    </>
  );
}

function LinkView({ link }: { link: Link }) {
  const t = useTranslations('link');
  const { may } = useSession();
  const [params] = useSearchParams();
  return (
    <>
      <PageHead
        title={link.label || t('unnamed')}
        before={<Back to="/links" label={t('back')} />}
        hint={
          <>
            {link.workspaceName} · <LinkState status={link.status} /> · {t('since')}{' '}
            <Time at={link.createdAt} />
          </>
        }
      >
        <Button
          component={To}
          href={`/leads?link=${link.id}`}
          variant="default"
          leftSection={<Icon name="leads" size={14} />}
        >
          {t('leads')}
        </Button>
        {may('operator', link.workspaceId) && <Act link={link} />}
      </PageHead>
      <div className="page-body">
        {link.unrecognised.week > 0 && params.get('tab') !== 'mapping' && (
          <p className="note" role="status">
            {t('unrecognised', { count: link.unrecognised.week })}{' '}
            <To href={`/links/${link.id}?tab=mapping`}>{t('map')}</To>
          </p>
        )}
        <AddressTabs
          tabs={[
            { name: 'use', label: t('tab.use'), panel: <Use link={link} /> },
            { name: 'settings', label: t('tab.settings'), panel: <Settings link={link} /> },
            { name: 'mapping', label: t('tab.mapping'), panel: <Mapping link={link} /> },
            { name: 'codes', label: t('tab.codes'), panel: <Codes link={link} /> },
          ]}
        />
      </div>
    </>
  );
}

/** What a landing page needs, and the first lead that came of it. */
function Use({ link }: { link: Link }) {
  const t = useTranslations('link');
  const { may } = useSession();
  const url = link.captureUrl ?? `https://…/ingest/${link.code}`;
  const snippet = `<script src="${url.replace(/\/ingest\/.*$/, '/capture.js')}" data-link="${link.code}" async></script>`;
  const ways = [
    { name: 'url', text: url },
    { name: 'snippet', text: snippet },
  ] as const;
  return (
    <div className="lead">
      <Stack gap="lg">
        {ways.map(({ name, text }) => (
          <section key={name}>
            <Group justify="space-between" mb={4}>
              <Title order={2}>{t(`way.${name}`)}</Title>
              <Copy text={text} />
            </Group>
            <Hint mb={6}>{t(`wayHint.${name}`)}</Hint>
            <CodeBlock>{text}</CodeBlock>
          </section>
        ))}
        {may('operator', link.workspaceId) && link.status === 'open' && <TestPost link={link} />}
      </Stack>
      <Stack gap="lg">
        <Newest link={link} />
        <Activity link={link} />
      </Stack>
    </div>
  );
}

const SAMPLE = `{
  "name": "Ana Souza",
  "email": "ana@example.com",
  "telephone": "+55 11 98765-4321"
}`;

/** Sends a body as a sender would, and leads to the lead that comes of it. */
function TestPost({ link }: { link: Link }) {
  const t = useTranslations('link');
  const [body, setBody] = useState(SAMPLE);
  const send = useChange(['/api/workspaces/{workspaceId}/leads/search'], () =>
    api.post('/api/links/{linkId}/test-post', {
      path: { linkId: link.id },
      body: { body },
    }),
  );
  return (
    <section>
      <Title order={2} mb={4}>
        {t('way.test')}
      </Title>
      <CodeInput
        aria-label={t('way.test')}
        description={t('wayHint.test')}
        error={send.error instanceof ApiProblem ? send.error.message : undefined}
        {...typed(body, setBody)}
      />
      {send.error !== null && !(send.error instanceof ApiProblem) && (
        <Failure act error={send.error} />
      )}
      <Group mt="xs" gap="sm">
        <Button loading={send.isPending} onClick={() => send.mutate()}>
          {t('send')}
        </Button>
        {send.data !== undefined && <Became key={send.data.submissionId} {...send.data} />}
      </Group>
    </section>
  );
}

/** Waits until a worker has applied a submission. */
function Became({ leadId, submissionId }: { leadId: string; submissionId: string }) {
  const t = useTranslations('link');
  const { data } = useGet('/api/submissions/{submissionId}', {
    path: { submissionId }, // Not there yet: asked again.
    retry: true,
    retryDelay: LOOK_EVERY_MS / 2,
  });
  return (
    <Text size="sm" role="status" component="span">
      {data === undefined ? t('testWaits') : <To href={`/leads/${leadId}`}>{t('testLead')}</To>}
    </Text>
  );
}

/** What was posted to the link in two weeks, with the weeks before. */
function Activity({ link }: { link: Link }) {
  const t = useTranslations('link');
  const overview = useTranslations('overview');
  const format = useFormatter();
  const { data } = useFigures(link.workspaceId, 'day', link.id);
  if (data === undefined || data.now.accepted + data.now.refused + data.before.accepted === 0)
    return null;
  return (
    <Card title={t('activity')}>
      <Bars
        bars={data.times.map(({ at, now, before }) => ({
          at,
          label: format.dateTime(new Date(at), { day: 'numeric', month: 'short', timeZone: 'UTC' }),
          value: now.accepted,
          before: before.accepted,
        }))}
        title={t('activity')}
        names={[overview('accepted'), overview('weekBefore')]}
        every={4}
        height={110}
      />
    </Card>
  );
}

const LOOK_EVERY_MS = 2_000;

/** Waits for what comes: whoever has just made a link sees its first lead here. */
function Newest({ link }: { link: Link }) {
  const t = useTranslations('link');
  const { data, error } = useQuery({
    queryKey: ['/api/workspaces/{workspaceId}/leads/search', 'newest', link.id],
    queryFn: () =>
      api.post('/api/workspaces/{workspaceId}/leads/search', {
        path: { workspaceId: link.workspaceId },
        body: { linkId: link.id, limit: 8 },
      }),
    refetchInterval: LOOK_EVERY_MS,
  });
  const leads = data?.leads ?? [];
  return (
    <section className="card lead-card" aria-live="polite">
      <Title order={2} mb={6}>
        {t('newest')}
      </Title>
      <Failure error={error} />
      {leads.length === 0 ? (
        <Hint>{t('waiting')}</Hint>
      ) : (
        <ul className="plain">
          {leads.map((lead) => (
            <li key={lead.leadId}>
              <To href={`/leads/${lead.leadId}`}>{nameOf(lead)}</To>
              <Time at={lead.createdAt} near soft />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Settings({ link }: { link: Link }) {
  const { may } = useSession();
  const [form, setForm] = useState(formOf(link));
  const save = useChange(
    ['/api/links'],
    async () => {
      const path = { linkId: link.id };
      if (form.lastDay !== formOf(link).lastDay)
        await api.post('/api/links/{linkId}/expire', { path, body: { at: endOf(form) } });
      return api.patch('/api/links/{linkId}', { path, body: settingsOf(form) });
    },
    (saved) => setForm(formOf(saved)),
  );
  return (
    <PageForm act={save} disabled={!may('operator', link.workspaceId)}>
      <LinkFields
        form={form}
        set={setForm}
        error={save.error}
        hasSecret={link.guard.captcha !== null}
      />
    </PageForm>
  );
}

function Codes({ link }: { link: Link }) {
  const t = useTranslations('link');
  return (
    <Table inset columns={[t('code'), { text: t('until'), keep: true }, t('codeSince')]}>
      {link.codes.map(({ code, createdAt, expiresAt, expired }) => (
        <tr key={code}>
          <td>
            <code>{code}</code>
          </td>
          <td data-keep>
            {expiresAt === null ? t('noEnd') : <Time at={expiresAt} />} {expired && t('expired')}
          </td>
          <td>
            <Time at={createdAt} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

const DAY_SECONDS = 86_400;

function Act({ link }: { link: Link }) {
  const t = useTranslations('link');
  const [rotating, { open, close }] = useDisclosure();
  const [days, setDays] = useState<number | string>(7);
  const path = { linkId: link.id };
  const act = useChange(
    ['/api/links'],
    (what: 'disable' | 'enable' | 'rotate') =>
      what === 'rotate'
        ? api.post('/api/links/{linkId}/rotate', {
            path,
            body: { overlapSeconds: Math.round(Number(days) * DAY_SECONDS) },
          })
        : api.post(`/api/links/{linkId}/${what}`, { path }),
    close,
  );
  return (
    <>
      <MoreMenu label={t('more')}>
        <Menu.Item onClick={open}>{t('rotate')}</Menu.Item>
        {link.state === 'open' ? (
          <Menu.Item color="red" onClick={() => act.mutate('disable')}>
            {t('disable')}
          </Menu.Item>
        ) : (
          <Menu.Item onClick={() => act.mutate('enable')}>{t('enable')}</Menu.Item>
        )}
      </MoreMenu>
      {!rotating && <Failure act error={act.error} />}
      {rotating && (
        <FormModal
          close={close}
          title={t('rotate')}
          act={{ ...act, mutate: () => act.mutate('rotate') }}
        >
          <Text size="sm">{t('rotateHint')}</Text>
          <NumberInput label={t('overlap')} min={0} max={365} value={days} onChange={setDays} />
        </FormModal>
      )}
    </>
  );
}
