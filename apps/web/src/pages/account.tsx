import { Button, Code, Group, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { api } from '../api.ts';
import { useChange, useGet } from '../queries.ts';
import { Card } from '../parts/card.tsx';
import { Copy } from '../parts/copy.tsx';
import { FormModal } from '../parts/form-modal.tsx';
import { PageForm } from '../parts/page-form.tsx';
import { Failure, Waiting } from '../parts/standing.tsx';
import { Time } from '../parts/time.tsx';
import { useSession } from '../session.tsx';
import { Password } from '../settings/operators.tsx';
import { PageHead } from '../shell.tsx';
import { fieldsOf } from '../parts/typed.ts';
import { Hint } from '../parts/styled.tsx';

/** What somebody may change of themselves: password, second factor, sessions. */
export default function AccountPage() {
  const t = useTranslations('account');
  const { me } = useSession();
  return (
    <>
      <PageHead title={t('title')} hint={me.name} />
      <Stack className="page-body narrow" gap="lg">
        <OwnPassword />
        <SecondFactor />
        <Sessions />
      </Stack>
    </>
  );
}

function OwnPassword() {
  const t = useTranslations('account');
  const [form, setForm] = useState({ current: '', password: '' });
  const change = useChange(
    ['/api/me/sessions'],
    () => api.post('/api/me/credentials', { body: form }),
    () => setForm({ current: '', password: '' }),
  );
  const { text } = fieldsOf(form, setForm, change.error);
  return (
    <Card title={t('password')}>
      <PageForm act={change} label={t('change')} done={t('changed')}>
        <Stack gap="sm">
          <Password label={t('current')} isNew={false} {...text('current')} />
          <Password label={t('newPassword')} {...text('password')} />
        </Stack>
      </PageForm>
    </Card>
  );
}

const FACTOR = ['/api/me/second-factor'] as const;

type Asked = { what: 'authenticator' | 'drop' | 'key' } | { what: 'dropKey'; keyId: string };

/** A code of an authenticator, or a security key: any of them will do. */
function SecondFactor() {
  const t = useTranslations('account');
  const [asked, setAsked] = useState<Asked | null>(null);
  const { data, error } = useGet('/api/me/second-factor', {});
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Waiting />;
  const close = () => setAsked(null);
  return (
    <Card title={t('factor')}>
      <Hint mb="xs">{t('factorHint')}</Hint>
      <ul className="plain">
        <li>
          <span>
            {t('authenticator')}
            <span className="second">{t(data.authenticator ? 'inForce' : 'none')}</span>
          </span>
          <Group gap={6}>
            <Button variant="default" onClick={() => setAsked({ what: 'authenticator' })}>
              {t(data.authenticator ? 'setUpAnother' : 'setUp')}
            </Button>
            {data.authenticator && (
              <Button variant="default" color="red" onClick={() => setAsked({ what: 'drop' })}>
                {t('drop')}
              </Button>
            )}
          </Group>
        </li>
        {data.keys.map(({ id, name, createdAt, lastUsedAt }) => (
          <li key={id}>
            <span>
              {name}
              <span className="second">
                {t.rich(lastUsedAt === null ? 'keyUnused' : 'keyUsed', {
                  since: () => <Time at={createdAt} />,
                  used: () => <Time at={lastUsedAt ?? createdAt} near />,
                })}
              </span>
            </span>
            <Button
              variant="default"
              aria-label={t('removeKey', { name })}
              onClick={() => setAsked({ what: 'dropKey', keyId: id })}
            >
              {t('remove')}
            </Button>
          </li>
        ))}
      </ul>
      <Button mt="xs" variant="default" onClick={() => setAsked({ what: 'key' })}>
        {t('addKey')}
      </Button>
      {asked?.what === 'authenticator' && <Authenticator close={close} />}
      {asked?.what === 'key' && <AddKey close={close} />}
      {asked?.what === 'drop' && <Drop close={close} keyId={null} />}
      {asked?.what === 'dropKey' && <Drop close={close} keyId={asked.keyId} />}
    </Card>
  );
}

/** Its secret is shown, and counts once a code of it was typed. */
function Authenticator({ close }: { close: () => void }) {
  const t = useTranslations('account');
  const [form, setForm] = useState({ current: '', code: '' });
  const { current, code } = form;
  const begin = useMutation({
    mutationFn: () => api.post('/api/me/second-factor', { body: { current } }),
  });
  const confirm = useChange(
    FACTOR,
    () => api.post('/api/me/second-factor/confirm', { body: { code } }),
    close,
  );
  const pending = begin.data;
  const act = pending === undefined ? begin : confirm;
  const { text } = fieldsOf(form, setForm, act.error);
  return (
    <FormModal
      close={close}
      title={t('authenticator')}
      label={t(pending === undefined ? 'next' : 'confirm')}
      act={act}
    >
      {pending === undefined ? (
        <Password label={t('current')} isNew={false} {...text('current')} />
      ) : (
        <>
          <Text size="sm">{t('secretHint')}</Text>
          <Group gap={6} wrap="nowrap">
            <Code className="wrap">{pending.secret}</Code>
            <Copy text={pending.secret} />
          </Group>
          <Text size="sm" component="p" m={0}>
            <a href={pending.uri}>{t('openIn')}</a>
          </Text>
          <TextInput
            label={t('code')}
            inputMode="numeric"
            autoComplete="one-time-code"
            w={160}
            {...text('code')}
          />
        </>
      )}
    </FormModal>
  );
}

function AddKey({ close }: { close: () => void }) {
  const t = useTranslations('account');
  const [form, setForm] = useState({ name: '', current: '' });
  const { name, current } = form;
  const add = useChange(
    FACTOR,
    async () => {
      const asked = await api.post('/api/me/security-keys', { body: { current } });
      const { startRegistration } = await import('@simplewebauthn/browser');
      // The API says of it no more than that it is what the browser takes.
      const optionsJSON = asked as unknown as Parameters<
        typeof startRegistration
      >[0]['optionsJSON'];
      const answer = await startRegistration({ optionsJSON });
      return api.post('/api/me/security-keys/confirm', {
        body: { name, answer: { ...answer, clientExtensionResults: {} } },
      });
    },
    close,
  );
  const { text } = fieldsOf(form, setForm, add.error);
  return (
    <FormModal close={close} title={t('addKey')} act={add}>
      <Text size="sm">{t('addKeyHint')}</Text>
      <TextInput label={t('keyName')} placeholder="YubiKey" {...text('name')} />
      <Password label={t('current')} isNew={false} {...text('current')} />
    </FormModal>
  );
}

/** `keyId`: of a security key; null: the authenticator. */
function Drop({ close, keyId }: { close: () => void; keyId: string | null }) {
  const t = useTranslations('account');
  const [body, setBody] = useState({ current: '' });
  const drop = useChange(
    FACTOR,
    () =>
      keyId === null
        ? api.post('/api/me/second-factor/drop', { body })
        : api.post('/api/me/security-keys/{keyId}/drop', { path: { keyId }, body }),
    close,
  );
  const { text } = fieldsOf(body, setBody, drop.error);
  return (
    <FormModal close={close} title={t('drop')} act={drop} danger>
      <Text size="sm">{t('dropHint')}</Text>
      <Password label={t('current')} isNew={false} {...text('current')} />
    </FormModal>
  );
}

function Sessions() {
  const t = useTranslations('account');
  const { data, error } = useGet('/api/me/sessions', {});
  const end = useChange(['/api/me/sessions'], (sessionId: string) =>
    api.delete('/api/me/sessions/{sessionId}', { path: { sessionId } }),
  );
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Waiting />;
  return (
    <Card title={t('sessions')}>
      <ul className="plain">
        {data.map(({ id, browser, createdAt, lastUsedAt, current }) => (
          <li key={id}>
            <span>
              {browser || t('unknownBrowser')}
              <span className="second">
                {t.rich('session', {
                  since: () => <Time at={createdAt} />,
                  used: () => <Time at={lastUsedAt} near />,
                })}
              </span>
            </span>
            {current ? (
              <span className="soft nowrap">{t('thisOne')}</span>
            ) : (
              <Button variant="default" loading={end.isPending} onClick={() => end.mutate(id)}>
                {t('end')}
              </Button>
            )}
          </li>
        ))}
      </ul>
      <Failure act error={end.error} />
    </Card>
  );
}
