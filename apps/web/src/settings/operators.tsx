import { Badge, Group, Menu, PasswordInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { type Answer, api, faultsOf } from '../api.ts';
import { useChange, useGet } from '../queries.ts';
import { FormModal } from '../parts/form-modal.tsx';
import { Failure, Waiting } from '../parts/standing.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { SettingsHead } from './settings-head.tsx';
import { ROLES, type Role, useSession } from '../session.tsx';
import { MoreMenu } from '../parts/more-menu.tsx';
import { typed } from '../parts/typed.ts';

type Operator = Answer<'/api/operators', 'get'>[number];
type Asked = 'access' | 'password' | 'factor' | 'remove';

/** Who may sign in, and what they may do where. */
export function Operators() {
  const t = useTranslations('settings.operators');
  const { me, workspaces } = useSession();
  const [asked, setAsked] = useState<{ what: Asked; operator: Operator } | 'add' | null>(null);
  const { data, error } = useGet('/api/operators', {});
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Waiting />;
  const nameOf = (id: string) => workspaces.find((one) => one.id === id)?.name ?? id.slice(0, 8);
  const close = () => setAsked(null);
  return (
    <>
      <SettingsHead hint={t('hint')} label={t('add')} add={() => setAsked('add')} />
      <Table
        inset
        columns={[
          t('name'),
          t('roles'),
          t('factor'),
          t('since'),
          { text: t('more'), keep: true, unseen: true },
        ]}
      >
        {data.map((operator) => (
          <tr key={operator.id}>
            <td>
              {operator.name} {operator.name === me.name && <Badge color="gray">{t('you')}</Badge>}
              <span className="under">
                {[
                  ...(operator.role === null ? [] : [t(`role.${operator.role}`)]),
                  ...operator.workspaces.map(
                    ({ workspaceId, role }) => `${nameOf(workspaceId)}: ${t(`role.${role}`)}`,
                  ),
                ].join(' · ')}
              </span>
            </td>
            <td className="wraps">
              {operator.role !== null && <Badge>{t(`role.${operator.role}`)}</Badge>}{' '}
              {operator.workspaces.map(({ workspaceId, role }) => (
                <Badge key={workspaceId} color="blue">
                  {nameOf(workspaceId)}: {t(`role.${role}`)}
                </Badge>
              ))}
            </td>
            <td>{t(operator.hasSecondFactor ? 'hasFactor' : 'noFactor')}</td>
            <td>
              <Time at={operator.createdAt} />
            </td>
            <td data-keep className="number">
              <MoreMenu quiet label={t('moreOf', { name: operator.name })}>
                <Menu.Item onClick={() => setAsked({ what: 'access', operator })}>
                  {t('access')}
                </Menu.Item>
                <Menu.Item onClick={() => setAsked({ what: 'password', operator })}>
                  {t('newPassword')}
                </Menu.Item>
                {operator.hasSecondFactor && (
                  <Menu.Item onClick={() => setAsked({ what: 'factor', operator })}>
                    {t('dropFactor')}
                  </Menu.Item>
                )}
                {operator.name !== me.name && (
                  <Menu.Item color="red" onClick={() => setAsked({ what: 'remove', operator })}>
                    {t('remove')}
                  </Menu.Item>
                )}
              </MoreMenu>
            </td>
          </tr>
        ))}
      </Table>
      {asked === 'add' && <Add close={close} />}
      {asked !== null && asked !== 'add' && <Change {...asked} close={close} />}
    </>
  );
}

/** A role, and where it holds. */
export function RoleFields({
  role,
  setRole,
  workspaceId,
  setWorkspaceId,
  none = false,
}: {
  role: Role | null;
  setRole: (role: Role | null) => void;
  workspaceId: string | null;
  setWorkspaceId: (workspaceId: string | null) => void;
  /** Whether it may be none. */
  none?: boolean;
}) {
  const t = useTranslations('settings.operators');
  const { workspaces } = useSession();
  return (
    <Group grow gap="sm" align="flex-start">
      <Select
        label={t('roleOf')}
        allowDeselect={false}
        data={[
          ...ROLES.map((value) => ({ value: value, label: t(`role.${value}`) })),
          ...(none ? [{ value: '', label: t('noRole') }] : []),
        ]}
        value={role ?? ''}
        onChange={(value) => setRole(ROLES.find((one) => one === value) ?? null)}
      />
      <Select
        label={t('where')}
        allowDeselect={false}
        data={[
          { value: '', label: t('everywhere') },
          ...workspaces.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        value={workspaceId ?? ''}
        onChange={(value) => setWorkspaceId(value || null)}
      />
    </Group>
  );
}

function Add({ close }: { close: () => void }) {
  const t = useTranslations('settings.operators');
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [role, setRole] = useState<Role | null>('operator');
  const [workspaceId, setWorkspaceId] = useState<string | null>(null);
  const add = useChange(
    ['/api/operators'],
    () =>
      api.post('/api/operators', {
        body: { name, password, role: role ?? 'viewer', ...(workspaceId && { workspaceId }) },
      }),
    close,
  );
  const fault = faultsOf(add.error);
  return (
    <FormModal close={close} title={t('add')} act={add}>
      <TextInput
        label={t('name')}
        autoComplete="off"
        error={fault('/name')}
        {...typed(name, setName)}
      />
      <Password
        label={t('firstPassword')}
        value={password}
        change={setPassword}
        error={fault('/password')}
      />
      <RoleFields {...{ role, setRole, workspaceId, setWorkspaceId }} />
    </FormModal>
  );
}

/** A password that is typed. */
export function Password({
  label,
  value,
  change,
  error,
  isNew = true,
}: {
  label: string;
  value: string;
  change: (value: string) => void;
  error: string | undefined;
  /** Or the one in use. */
  isNew?: boolean;
}) {
  const t = useTranslations('settings.operators');
  return (
    <PasswordInput
      label={label}
      {...(isNew && { description: t('passwordHint') })}
      autoComplete={isNew ? 'new-password' : 'current-password'}
      visibilityToggleButtonProps={{ tabIndex: 0, 'aria-label': t('showPassword') }}
      value={value}
      error={error}
      onChange={({ currentTarget: { value: typed } }) => change(typed)}
    />
  );
}

function Change({ what, operator, close }: { what: Asked; operator: Operator; close: () => void }) {
  const t = useTranslations('settings.operators');
  const [role, setRole] = useState<Role | null>(operator.role);
  const [workspaceId, setWorkspaceId] = useState<string | null>(null);
  const [password, setPassword] = useState('');
  const path = { name: operator.name };
  const act = useChange(
    ['/api/operators'],
    async (): Promise<unknown> => {
      if (what === 'access')
        return api.patch('/api/operators/{name}', {
          path,
          body: { role, ...(workspaceId && { workspaceId }) },
        });
      if (what === 'password')
        return api.post('/api/operators/{name}/credentials', { path, body: { password } });
      if (what === 'factor') return api.delete('/api/operators/{name}/second-factor', { path });
      return api.delete('/api/operators/{name}', { path });
    },
    close,
  );
  const titles = {
    access: t('access'),
    password: t('newPassword'),
    factor: t('dropFactor'),
    remove: t('remove'),
  };
  return (
    <FormModal
      close={close}
      title={`${titles[what]}: ${operator.name}`}
      label={titles[what]}
      act={act}
      danger={what === 'remove' || what === 'factor'}
    >
      <Stack gap="sm">
        {what === 'access' && (
          <RoleFields {...{ role, setRole, workspaceId, setWorkspaceId }} none />
        )}
        {what === 'password' && (
          <Password
            label={t('newPassword')}
            value={password}
            change={setPassword}
            error={faultsOf(act.error)('/password')}
          />
        )}
        {what === 'password' && <Text size="sm">{t('newPasswordHint')}</Text>}
        {what === 'factor' && <Text size="sm">{t('dropFactorHint')}</Text>}
        {what === 'remove' && <Text size="sm">{t('removeHint')}</Text>}
      </Stack>
    </FormModal>
  );
}
