import { Badge, Button, NumberInput, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useNow, useTranslations } from 'use-intl';
import { type Answer, api } from '../api.ts';
import { useChange, useGet } from '../queries.ts';
import { FormModal } from '../parts/form-modal.tsx';
import { Secret } from '../parts/secret.tsx';
import { Failure, Nothing, Waiting } from '../parts/standing.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { SettingsHead } from './settings-head.tsx';
import { useSession } from '../session.tsx';
import { type Granted, RoleFields } from './operators.tsx';
import { fieldsOf } from '../parts/typed.ts';

type Token = Answer<'/api/tokens', 'get'>[number];

/** What programs sign in with: whose, for what, until when. */
export function Tokens() {
  const t = useTranslations('settings.tokens');
  const roles = useTranslations('settings.operators.role');
  const { workspaces } = useSession();
  const now = useNow({ updateInterval: 60_000 });
  const [making, setMaking] = useState(false);
  const [revoked, setRevoked] = useState<Token | null>(null);
  const { data, error } = useGet('/api/tokens', {});
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Waiting />;
  const ended = (token: Token) =>
    token.revokedAt !== null || new Date(token.expiresAt).getTime() < now.getTime();
  const whereOf = ({ workspaceId }: Token) =>
    workspaceId === null
      ? t('everywhere')
      : (workspaces.find(({ id }) => id === workspaceId)?.name ?? workspaceId.slice(0, 8));
  const endOf = (token: Token) => {
    if (token.revokedAt !== null) return <Badge color="gray">{t('revoked')}</Badge>;
    if (ended(token)) return <Badge color="gray">{t('over')}</Badge>;
    return <Time at={token.expiresAt} />;
  };
  return (
    <>
      <SettingsHead hint={t('hint')} label={t('new')} add={() => setMaking(true)} />
      {data.length === 0 ? (
        <Nothing icon="key" title={t('none')} />
      ) : (
        <Table
          inset
          columns={[t('name'), t('role'), t('by'), t('used'), t('ends')]}
          acts={t('revoke')}
        >
          {data.map((token) => (
            <tr key={token.id} data-ended={ended(token) || undefined}>
              <td>
                {token.name}
                <span className="under wraps">
                  {roles(token.role)}, {whereOf(token)} · {endOf(token)}
                </span>
              </td>
              <td>
                {roles(token.role)}, {whereOf(token)}
              </td>
              <td>{token.createdBy}</td>
              <td>
                {token.lastUsedAt === null ? (
                  <span className="soft">{t('never')}</span>
                ) : (
                  <Time at={token.lastUsedAt} near />
                )}
              </td>
              <td>{endOf(token)}</td>
              <td data-keep className="number">
                {!ended(token) && (
                  <Button
                    variant="subtle"
                    color="red"
                    aria-label={t('revokeOf', { name: token.name })}
                    onClick={() => setRevoked(token)}
                  >
                    {t('revoke')}
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {making && <New close={() => setMaking(false)} />}
      {revoked !== null && <Revoke token={revoked} close={() => setRevoked(null)} />}
    </>
  );
}

interface NewToken extends Granted {
  name: string;
  days: number | string;
}

function New({ close }: { close: () => void }) {
  const t = useTranslations('settings.tokens');
  const [form, setForm] = useState<NewToken>({
    ...{ name: '', role: 'viewer', workspaceId: null, days: 90 },
  });
  const create = useChange(['/api/tokens'], () => {
    const { name, role, workspaceId, days } = form;
    const body = { name, role: role ?? 'viewer', days: Number(days) };
    return api.post('/api/tokens', { body: { ...body, ...(workspaceId && { workspaceId }) } });
  });
  const { text, value } = fieldsOf(form, setForm, create.error);
  return (
    <FormModal
      close={close}
      title={t('new')}
      label={t('create')}
      act={create}
      done={create.isSuccess}
    >
      {create.data !== undefined ? (
        <Secret title={create.data.name} text={create.data.secret} hint={t('secretHint')} />
      ) : (
        <>
          <TextInput label={t('name')} placeholder="n8n" autoComplete="off" {...text('name')} />
          <RoleFields form={form} set={setForm} />
          <NumberInput label={t('days')} min={1} max={366} w={140} {...value('days')} />
        </>
      )}
    </FormModal>
  );
}

function Revoke({ token, close }: { token: Token; close: () => void }) {
  const t = useTranslations('settings.tokens');
  const revoke = useChange(
    ['/api/tokens'],
    () => api.delete('/api/tokens/{name}', { path: { name: token.id } }),
    close,
  );
  return (
    <FormModal close={close} title={t('revoke')} act={revoke} danger>
      <Text size="sm">{t('revokeHint', { name: token.name })}</Text>
    </FormModal>
  );
}
