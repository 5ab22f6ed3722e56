import { Alert, Button, Checkbox, Group, Menu, Radio, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { useLocation } from 'wouter';
import { api } from './api.ts';
import { useChange } from './queries.ts';
import type { Endpoint } from './endpoint-form.tsx';
import { startOfDay } from './lead-filter.ts';
import { type Try, useBacklog } from './pages/deliveries.tsx';
import { AnswerBadge, isGood } from './parts/answer.tsx';
import { FormModal } from './parts/form-modal.tsx';
import { Icon } from './parts/icon.tsx';
import { Secret } from './parts/secret.tsx';
import { Failure } from './parts/standing.tsx';
import { useSession } from './session.tsx';
import { MoreMenu } from './parts/more-menu.tsx';
import { typed, ticked } from './parts/typed.ts';
import { CodeBlock } from './parts/styled.tsx';

/** How long it took, in words. */
export function useTook(): (one: Pick<Try, 'durationMs'>) => string {
  const t = useTranslations('endpoint');
  return ({ durationMs: ms }) => (ms < 1_000 ? t('ms', { ms }) : t('seconds', { s: ms / 1_000 }));
}

/** What can be done with an endpoint. */
export function EndpointActions({ endpoint }: { endpoint: Endpoint }) {
  const t = useTranslations('endpoint');
  const { may } = useSession();
  const [asked, setAsked] = useState<'test' | 'resend' | 'rotate' | 'remove' | null>(null);
  const modal = { endpoint, close: () => setAsked(null) };
  const path = { endpointId: endpoint.id };
  const active = endpoint.state === 'active';
  const toggle = useChange(['/api/endpoints'], () =>
    api.post(`/api/endpoints/{endpointId}/${active ? 'pause' : 'resume'}`, { path }),
  );
  return (
    <>
      <Button variant="default" onClick={() => setAsked('test')}>
        {t('test')}
      </Button>
      <Button
        variant="default"
        leftSection={<Icon name="again" size={14} />}
        onClick={() => setAsked('resend')}
      >
        {t('resend')}
      </Button>
      <Button
        variant={active ? 'default' : 'filled'}
        leftSection={<Icon name={active ? 'pause' : 'play'} size={14} />}
        loading={toggle.isPending}
        onClick={() => toggle.mutate()}
      >
        {t(active ? 'pause' : 'resume')}
      </Button>
      {may('administrator', endpoint.workspaceId) && (
        <MoreMenu label={t('moreActions')}>
          {endpoint.kind === 'webhook' && (
            <Menu.Item
              leftSection={<Icon name="key" size={14} />}
              onClick={() => setAsked('rotate')}
            >
              {t('rotate')}
            </Menu.Item>
          )}
          <Menu.Item
            color="red"
            leftSection={<Icon name="erase" size={14} />}
            onClick={() => setAsked('remove')}
          >
            {t('remove')}
          </Menu.Item>
        </MoreMenu>
      )}
      <Failure act error={toggle.error} />
      {asked === 'test' && <Test {...modal} />}
      {asked === 'resend' && <Resend {...modal} />}
      {asked === 'rotate' && <Rotate {...modal} />}
      {asked === 'remove' && <Remove {...modal} />}
    </>
  );
}

/** A message that a deliverer sends now, and its answer. */
function Test({ endpoint, close }: { endpoint: Endpoint; close: () => void }) {
  const t = useTranslations('endpoint');
  const took = useTook();
  const test = useChange(['/api/endpoints/{endpointId}/tries'], () =>
    api.post('/api/endpoints/{endpointId}/test', {
      path: { endpointId: endpoint.id },
    }),
  );
  return (
    <FormModal
      close={close}
      title={t('test')}
      label={t(test.isSuccess ? 'testAgain' : 'testSend')}
      act={test}
    >
      <Text size="sm">{t('testHint')}</Text>
      {test.data !== undefined && (
        <Alert color={isGood(test.data) ? 'pine' : 'red'} variant="light" role="status">
          <AnswerBadge one={test.data} /> {took(test.data)}
          {test.data.detail !== '' && <CodeBlock mt={8}>{test.data.detail}</CodeBlock>}
        </Alert>
      )}
    </FormModal>
  );
}

const CHOICES = ['setAside', 'yesterday', 'time', 'everything'] as const;
type Choice = (typeof CHOICES)[number];

/** The moment that a field of a date and a time holds, in the reader's zone. */
const momentOf = (text: string): string | undefined =>
  text === '' ? undefined : new Date(text).toISOString();

function Resend({ endpoint, close }: { endpoint: Endpoint; close: () => void }) {
  const t = useTranslations('endpoint');
  const { data } = useBacklog(endpoint.id);
  const [choice, setChoice] = useState<Choice>('yesterday');
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const [sure, setSure] = useState(false);
  const filterOf = () => {
    if (choice === 'setAside') return { setAside: true };
    if (choice === 'yesterday') return { since: startOfDay(1).toISOString() };
    const [since, until] = choice === 'time' ? [momentOf(from), momentOf(to)] : [];
    return { ...(since !== undefined && { since }), ...(until !== undefined && { until }) };
  };
  const resend = useChange(
    ['/api/runs'],
    () =>
      api.post('/api/endpoints/{endpointId}/resend', {
        path: { endpointId: endpoint.id },
        body: filterOf(),
      }),
    close,
  );
  return (
    <FormModal
      close={close}
      title={t('resend')}
      act={resend}
      disabled={(choice === 'everything' && !sure) || (choice === 'time' && from + to === '')}
    >
      <Text size="sm">{t('resendHint')}</Text>
      <Radio.Group
        aria-label={t('resend')}
        value={choice}
        onChange={(value) => setChoice(CHOICES.find((one) => one === value) ?? 'yesterday')}
      >
        <Stack gap={8}>
          {CHOICES.map((one) => (
            <Radio
              key={one}
              value={one}
              label={t(`choice.${one}`, { count: data?.setAside ?? 0 })}
            />
          ))}
        </Stack>
      </Radio.Group>
      {choice === 'time' && (
        <Group gap="sm">
          <TextInput
            flex="1 1 200px"
            type="datetime-local"
            label={t('from')}
            {...typed(from, setFrom)}
          />
          <TextInput flex="1 1 200px" type="datetime-local" label={t('to')} {...typed(to, setTo)} />
        </Group>
      )}
      {choice === 'everything' && (
        <Checkbox label={t('everythingSure')} {...ticked(sure, setSure)} />
      )}
    </FormModal>
  );
}

const DAY_SECONDS = 86_400;

function Rotate({ endpoint, close }: { endpoint: Endpoint; close: () => void }) {
  const t = useTranslations('endpoint');
  const [days, setDays] = useState('7');
  const rotate = useChange(['/api/endpoints'], () =>
    api.post('/api/endpoints/{endpointId}/rotate', {
      path: { endpointId: endpoint.id },
      body: { overlapSeconds: Math.round(Number(days) * DAY_SECONDS) },
    }),
  );
  return (
    <FormModal close={close} title={t('rotate')} act={rotate} done={rotate.isSuccess}>
      {rotate.data?.secret ? (
        <Secret title={t('secret')} text={rotate.data.secret} hint={t('secretHint')} />
      ) : (
        <>
          <Text size="sm">{t('rotateHint')}</Text>
          <TextInput
            type="number"
            label={t('overlap')}
            min={0}
            max={365}
            {...typed(days, setDays)}
          />
        </>
      )}
    </FormModal>
  );
}

function Remove({ endpoint, close }: { endpoint: Endpoint; close: () => void }) {
  const t = useTranslations('endpoint');
  const [, go] = useLocation();
  const { data } = useBacklog(endpoint.id);
  const [name, setName] = useState('');
  const remove = useChange(
    ['/api/endpoints'],
    () =>
      api.delete('/api/endpoints/{endpointId}', {
        path: { endpointId: endpoint.id },
      }),
    () => go('/deliveries'),
  );
  return (
    <FormModal
      close={close}
      title={t('remove')}
      act={remove}
      danger
      disabled={name.trim() !== endpoint.name}
    >
      <Text size="sm">{t('removeHint', { count: data?.waiting ?? 0 })}</Text>
      <TextInput
        label={t('typeName', { name: endpoint.name })}
        autoComplete="off"
        {...typed(name, setName)}
      />
    </FormModal>
  );
}
